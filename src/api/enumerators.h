// Enumerators of the facade that callers in C give as numbers, and what is no enumerator at all.
#pragma once

#include <cstdint>

#include "lanefold/lanefold.h"

namespace lanefold::api {

/// Throws the Error of a number that is no enumerator of its kind: call_type_mismatch, unknown_order, unknown_device or
/// unknown_emission.
template <class Enum>
[[noreturn]] void refuse_enumerator(std::int64_t number);
template <>
[[noreturn]] void refuse_enumerator<Type>(std::int64_t number);
template <>
[[noreturn]] void refuse_enumerator<Order>(std::int64_t number);
template <>
[[noreturn]] void refuse_enumerator<Device>(std::int64_t number);
template <>
[[noreturn]] void refuse_enumerator<Emission>(std::int64_t number);

/// A number of C as an enumerator. What an enumerator cannot even hold is refused here, and other wrong ones where they are used.
template <class Enum>
Enum enumerator(std::int32_t number) {
  if (number < 0 || number > 255) refuse_enumerator<Enum>(number);
  return static_cast<Enum>(number);
}

}  // namespace lanefold::api
