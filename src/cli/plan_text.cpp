#include "cli/plan_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/report.h"

namespace lanefold::cli {

nlohmann::json plan_fields(const plan::Plan& plan) { return nlohmann::json::parse(plan::to_json(plan)).at("plan"); }

}  // namespace lanefold::cli
