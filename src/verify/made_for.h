// For what an instance was made, in words.
#pragma once

#include <string>

#include "verify/instance.h"

namespace lanefold::verify {

/// "1 row of 2560 columns", "tokens 8, hidden 2560, weights bf16".
std::string made_for(const Instance& instance);

}  // namespace lanefold::verify
