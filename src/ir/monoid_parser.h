// Parses the definition of a monoid.
#pragma once

#include "ir/expression_parser.h"

namespace lanefold::ir {

/// The monoid at the position, which stands at the word "monoid", with its parts' defaults filled in.
/// `builtin` marks one of the library's own.
Result<Monoid> parse_monoid(TokenStream& tokens, bool builtin = false);

}  // namespace lanefold::ir
