// A view of a matrix in memory, as bindings, runtime, oracle and machine share it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element_type.h"

namespace lanefold {

/// `rows` × `cols` elements of one type; element (r, c) lies at data + (r·row_stride + c·column_stride)·element_bytes.
/// Strides count elements and may be 0 or negative. A [cols] vector has row_stride 0, a [rows] vector column_stride 0.
struct View {
  std::byte* data = nullptr;
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  std::byte* at(std::int64_t r, std::int64_t c) const {
    return data + (r * row_stride + c * column_stride) * static_cast<std::int64_t>(element_bytes(type));
  }
};

}  // namespace lanefold
