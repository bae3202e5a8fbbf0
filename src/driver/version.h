// The version that reports and cache keys carry.
#pragma once

#include <string_view>

namespace lanefold::driver {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace lanefold::driver
