// Brings calls of one function together, so that a language may write several as one.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "lane/module.h"

namespace lanefold::emit {

/// How many calls like this one may stand together; 1 where it is no call or has no company.
using MostTogether = std::function<std::size_t(const lane::Statement&)>;

/// Whether both are calls of one function.
bool are_alike(const lane::Statement& a, const lane::Statement& b);

/// The same statements, nested blocks too, in an order in which calls that are alike follow one another, up to `most` at a time: a later call
/// moves up to the first with the arithmetic that its operands need. Nothing that reads or changes memory or exchanges lanes moves, but reads of
/// register arrays that nothing between changes.
std::vector<lane::Statement> bring_together(const std::vector<lane::Statement>& block, const MostTogether& most);

}  // namespace lanefold::emit
