// For what an instance was made, in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "verify/instance.h"

namespace lanefold::verify {

/// "1 row of 2560 columns", "64 rows of 4096 columns, option soft_cap=30", "tokens 8, hidden 2560, weights bf16".
std::string made_for(const Instance& instance);

/// What stands in it of a row program behind the shape: ", tokens 8, weights q8_0, option soft_cap=30"; empty for none of these.
std::string built_for(const kernels::Build& build);
/// What such a text says, apart from storage; nothing where it is malformed.
std::optional<kernels::Build> build_of(std::string_view made_for);

}  // namespace lanefold::verify
