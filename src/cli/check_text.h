// Reports of checks, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "verify/check.h"

namespace lanefold::cli {

/// One output in one line: its elements and greatest error, or its first wrong element.
std::string check_line(const verify::OutputReport& report);
nlohmann::json check_json(const verify::CheckReport& report);

/// All outputs together.
struct Elements {
  std::int64_t count = 0;
  double max_error = 0;
};
Elements elements_of(const verify::CheckReport& report);
/// A line for each output that is wrong, behind what was checked.
std::string fault_lines(const std::string& what, const verify::CheckReport& report);

}  // namespace lanefold::cli
