#include "driver/source_text.h"

#include <fmt/format.h>

#include "emit/cuda/cuda_source.h"
#include "plan/describe.h"
#include "plan/layout.h"

namespace lanefold::driver {
namespace {

std::string counted(std::uint32_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string plan_comment(const plan::Plan& plan) {
  const std::uint32_t alignment = plan.width.alignment;
  const std::string promise =
      alignment == 1
          ? ""
          : fmt::format(
                "// Columns, and strides from row to row, are multiples of {}; buffers of rows and columns begin "
                "at multiples of 16 bytes.\n",
                alignment);
  return fmt::format(
             "// Plan: {} order; layout {}; {} per row; {} and {} per threadgroup.\n"
             "// Stripe: {}. Serves {} to {} columns.\n",
             ir::order_name(plan.order), plan::layout_text(plan.layout),
             counted(plan.simd_groups_per_row, "SIMD group"), counted(plan.rows_per_threadgroup, "row"),
             counted(plan.threads, "thread"), plan::stripe_name(plan.stripe), plan.width.min_cols,
             plan.width.max_cols) +
         promise;
}

Result<std::string> source_text(const lane::Module& module, const target::Target& target, ir::Order order) {
  if (target.family != target::Family::cuda)
    return Diagnostic{Code::no_source_language,
                      fmt::format("{} has no source language in this version, which writes CUDA", target.name),
                      "choose a CUDA target, such as cuda-sm90, or emit --as lane", "--target"};
  LANEFOLD_TRY(emit::CudaSource source, emit::cuda_source(module, {.fast = order == ir::Order::free}));
  return std::move(source.text);
}

}  // namespace lanefold::driver
