// Bounds of i32 values that hold in every run: what shows that an address does not wrap.
#pragma once

#include <cstdint>
#include <optional>

#include "lane/module.h"

namespace lanefold::jit {

/// low ≤ value ≤ high.
struct Range {
  std::int64_t low = 0, high = 0;
};

/// The range itself if all of it are i32 values: what may wrap has no bounds.
std::optional<Range> within_i32(const Range& range);

/// Bounds of an i32 operation of two i32 operands, of which nothing is known where they have no bounds themselves. Nothing
/// where the operation is not covered or may wrap.
std::optional<Range> range_of(lane::Op op, const std::optional<Range>& a, const std::optional<Range>& b);

/// Whether base + lane·stride is an i32 for each lane below `width` and each base in the range. `stride` is an i32.
bool stays_within_i32(const std::optional<Range>& base, std::int64_t stride, std::uint32_t width);

}  // namespace lanefold::jit
