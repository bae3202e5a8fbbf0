// Bounds of integer values, so that arithmetic that cannot wrap is written plainly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lane/module.h"

namespace lanefold::emit {

struct Range {
  std::int64_t low, high;
};

/// The bounds of the exact result of an integer operation, before any wrapping, where its operands' bounds give some.
std::optional<Range> result_range(lane::Op op, std::span<const std::optional<Range>> operands);
/// Whether every value is an i32.
bool fits_i32(const std::optional<Range>& range);

}  // namespace lanefold::emit
