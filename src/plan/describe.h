// Plans in words, for people.
#pragma once

#include <string>

#include "plan/plan.h"

namespace lanefold::plan {

/// Bits with one owner that stand together, as one factor of V: "lane 8 · reg 8 · pass 2".
std::string layout_text(const Layout& layout);
/// The plan in one line: target, order, V, layout, threads and rows of a threadgroup, stripe.
std::string plan_line(const Plan& plan);

}  // namespace lanefold::plan
