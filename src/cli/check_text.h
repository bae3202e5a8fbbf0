// Reports of checks, as text and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "verify/check.h"

namespace lanefold::cli {

/// One output in one line: its elements and greatest error, or its first wrong element.
std::string check_line(const verify::OutputReport& report);
nlohmann::json check_json(const verify::CheckReport& report);

}  // namespace lanefold::cli
