#include "plan/describe.h"

#include <fmt/format.h>

namespace lanefold::plan {

std::string layout_text(const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < layout.bits.size();) {
    std::size_t end = i;
    while (end < layout.bits.size() && layout.bits[end] == layout.bits[i]) ++end;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : " · ", owner_name(layout.bits[i]), std::uint64_t{1} << (end - i));
    i = end;
  }
  if (text.empty()) text = "one lane a row";
  if (layout.rows_per_simd_group > 1) text += fmt::format(", {} rows a SIMD group", layout.rows_per_simd_group);
  return text;
}

std::string plan_line(const Plan& plan) {
  return fmt::format("{}, {} order, V = {}, layout {}, {} thread{} for {} row{}, stripe: {}", plan.target,
                     ir::order_name(plan.order), plan.width.virtual_lanes, layout_text(plan.layout), plan.threads,
                     plan.threads == 1 ? "" : "s", plan.rows_per_threadgroup, plan.rows_per_threadgroup == 1 ? "" : "s",
                     stripe_name(plan.stripe));
}

}  // namespace lanefold::plan
