// Parts of the text form; print() in program.h gives the whole.
#pragma once

#include <string>

#include "ir/program.h"

namespace lanefold::ir {

/// The definition of a monoid, with all its parts.
std::string print_monoid(const Monoid& monoid);
/// The shortest spelling that reads back as the same number of this type.
std::string print_number(double value, ElementType type);
/// "[rows, cols]", "[rows]", "[cols]" or "[rows, cols/B]".
std::string print_shape(Kind kind);

}  // namespace lanefold::ir
