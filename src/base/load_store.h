// One stored element to a number and back, for every storage type: what loads and stores mean, element by element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element_type.h"

namespace lanefold {

/// The element's value; exact for all types but i64 beyond 2^53. A NaN comes back as some NaN.
double load_element_f64(const std::byte* at, ElementType type);
/// The element as f32: exact for every float type up to f32, for boolean and i8; i32, i64 and f64 round to nearest even.
/// Every NaN of a type narrower than f32 becomes the canonical NaN; an f32 NaN keeps its bits.
float load_element_f32(const std::byte* at, ElementType type);
/// The element of an integer type or boolean (0 or 1); an internal error for float types.
std::int64_t load_element_integer(const std::byte* at, ElementType type);

/// Stores to a float type: rounds to nearest even as base/narrow.h says, and writes NaN as the format's one pattern.
/// An internal error for integer types and boolean, which store_integer writes.
void store_element(std::byte* at, ElementType type, float value);
/// Stores to an integer type, keeping the low bits (two's complement), or to boolean (0 or 1, nonzero is 1); an internal
/// error for float types.
void store_integer(std::byte* at, ElementType type, std::int64_t value);

}  // namespace lanefold
