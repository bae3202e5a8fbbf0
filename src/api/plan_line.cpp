#include "api/plan_line.h"

#include <fmt/format.h>

namespace lanefold::api {
namespace {

/// Bits with the same owner, one after another, are one factor of V: "lane 8 · reg 4".
std::string factors(const plan::Layout& layout) {
  if (layout.bits.empty()) return "one lane a row";
  std::string text;
  std::uint64_t size = 1;
  for (std::size_t bit = 0; bit < layout.bits.size(); ++bit) {
    size *= 2;
    if (bit + 1 < layout.bits.size() && layout.bits[bit + 1] == layout.bits[bit]) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", plan::owner_name(layout.bits[bit]), size);
    size = 1;
  }
  return text;
}

}  // namespace

std::string plan_line(const plan::Plan& plan) {
  std::string layout = factors(plan.layout);
  if (plan.layout.rows_per_simd_group > 1)
    layout += fmt::format(", {} rows a SIMD group", plan.layout.rows_per_simd_group);
  return fmt::format("{}: V = {}, layout {}, {} thread{} for {} row{}, stripe: {}", plan.target,
                     plan.width.virtual_lanes, layout, plan.threads, plan.threads == 1 ? "" : "s",
                     plan.rows_per_threadgroup, plan.rows_per_threadgroup == 1 ? "" : "s",
                     plan::stripe_name(plan.stripe));
}

}  // namespace lanefold::api
