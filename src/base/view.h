// A view of a matrix in memory, as bindings, runtime, oracle and machine share it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element_type.h"

namespace lanefold {

/// How the elements of a row follow one another.
enum class Packing : std::uint8_t {
  plain,       ///< at the view's column stride
  q8_0_codes,  ///< i8 codes in blocks of 34 bytes: behind each 32 of them lies the f16 scale of the next block
};

/// `rows` × `cols` elements of one type; element (r, c) lies at data + (r·row_stride + c·column_stride)·element_bytes, and
/// c / 32 · 2 elements further on where codes are packed. Strides count elements and may be 0 or negative. A [cols] vector has
/// row_stride 0, a [rows] vector column_stride 0.
struct View {
  std::byte* data = nullptr;
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
  Packing packing = Packing::plain;

  /// Elements from `data` to element (r, c).
  std::int64_t offset(std::int64_t r, std::int64_t c) const {
    return r * row_stride + c * column_stride + (packing == Packing::q8_0_codes ? c / 32 * 2 : 0);
  }
  std::byte* at(std::int64_t r, std::int64_t c) const {
    return data + offset(r, c) * static_cast<std::int64_t>(element_bytes(type));
  }
};

}  // namespace lanefold
