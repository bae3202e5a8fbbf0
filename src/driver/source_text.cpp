#include "driver/source_text.h"

#include <fmt/format.h>

#include "emit/cuda/cuda_source.h"

namespace lanefold::driver {

Result<std::string> source_text(const lane::Module& module, const target::Target& target, ir::Order order) {
  if (target.family != target::Family::cuda)
    return Diagnostic{Code::no_source_language,
                      fmt::format("{} has no source language in this version, which writes CUDA", target.name),
                      "choose a CUDA target, such as cuda-sm90, or emit --as lane", "--target"};
  LANEFOLD_TRY(emit::CudaSource source, emit::cuda_source(module, {.fast = order == ir::Order::free}));
  return std::move(source.text);
}

}  // namespace lanefold::driver
