// What of a program no output depends on.
#pragma once

#include "ir/program.h"

namespace lanefold::ir {

/// Drops values, folds and monoids that no store needs. Inputs and parameters stay: they are the program's signature.
void remove_unused(Program& program);

}  // namespace lanefold::ir
