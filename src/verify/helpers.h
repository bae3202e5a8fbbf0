// Which functions of a lane module a proof may take by their name.
#pragma once

#include <vector>

#include "lane/module.h"
#include "machine/evaluator.h"

namespace lanefold::verify {

/// One entry per function: a helper where the function is, statement for statement, what the library makes under that name (an elementary
/// function, rounding, quantising, or the merge of argmax or argmin), and looked into otherwise.
std::vector<machine::Helper> standard_helpers(const lane::Module& module);

}  // namespace lanefold::verify
