// Plans for people.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "plan/plan.h"

namespace lanefold::cli {

/// The bits of the virtual lane index from the lowest, such as "lane 8 · reg 16".
std::string layout_text(const plan::Layout& layout);
/// The plan in one line.
std::string plan_line(const plan::Plan& plan);
/// The fields of the plan's JSON form, without its candidates.
nlohmann::json plan_fields(const plan::Plan& plan);

}  // namespace lanefold::cli
