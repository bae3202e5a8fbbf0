// Classes of calls: ranges of rows and columns for which a plan is chosen once.
#pragma once

#include <cstdint>

#include "ir/order.h"

namespace lanefold::driver {

/// How many rows share a device, in steps of four times as many: a few rows leave multiprocessors idle, which more workers a row
/// then use. No rows are class 0.
std::uint32_t row_class(std::int64_t rows);

/// Calls that have as many steps of columns to take, and about as many rows. All ends are inclusive.
struct CallClass {
  std::int64_t least_rows = 1, most_rows = 1;
  std::int64_t least_cols = 1, most_cols = 1;
  friend bool operator==(const CallClass&, const CallClass&) = default;
};

/// The class of a call of one row and one column or more. Of columns: under `canonical` as many chunks of V columns, or as many
/// segments (whole ones, of which nothing is guarded, are a class of their own); under `free` up to a power of two; under
/// `serial` any number.
CallClass call_class(ir::Order order, std::int64_t rows, std::int64_t cols);

}  // namespace lanefold::driver
