#include "cli/plan_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/report.h"

namespace lanefold::cli {

std::string layout_text(const plan::Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < layout.bits.size();) {
    std::size_t end = i;
    while (end < layout.bits.size() && layout.bits[end] == layout.bits[i]) ++end;
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", plan::owner_name(layout.bits[i]),
                        std::uint64_t{1} << (end - i));
    i = end;
  }
  if (text.empty()) text = "one lane a row";
  if (layout.rows_per_simd_group > 1) text += fmt::format(", {} rows a SIMD group", layout.rows_per_simd_group);
  return text;
}

std::string plan_line(const plan::Plan& plan) {
  return fmt::format("{}, {} order, V = {}, layout {}, {} for {}, stripe: {}", plan.target, ir::order_name(plan.order),
                     plan.width.virtual_lanes, layout_text(plan.layout), counted(plan.threads, "thread"),
                     counted(plan.rows_per_threadgroup, "row"), plan::stripe_name(plan.stripe));
}

nlohmann::json plan_fields(const plan::Plan& plan) { return nlohmann::json::parse(plan::to_json(plan)).at("plan"); }

}  // namespace lanefold::cli
