// Operations whose result is known before any row is: on constants, or one of their own operands.
#pragma once

#include <optional>
#include <vector>

#include "ir/program.h"

namespace lanefold::ir {

/// The operand that the operation gives back, bit for bit (up to the payload of a NaN): of x · 1, x / 1, x + (−0), x − 0, and of a select or
/// a logical operation with a constant condition. `values` hold the operands.
std::optional<ValueId> operand_in_its_place(const Value& value, const std::vector<Value>& values);

/// The result of IEEE arithmetic, comparisons, logic and conversions on constants. The caller sees to the floating-point environment.
std::optional<double> constant_of(const Value& value, const std::vector<Value>& values);

}  // namespace lanefold::ir
