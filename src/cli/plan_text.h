// Plans for people.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "plan/plan.h"

namespace lanefold::cli {

/// The fields of the plan's JSON form, without its candidates.
nlohmann::json plan_fields(const plan::Plan& plan);

}  // namespace lanefold::cli
