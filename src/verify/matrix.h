// Owned matrices for checking: poisoned, with sentinels on both sides, in any layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/view.h"

namespace lanefold::verify {

/// How a matrix lies in memory.
struct MatrixLayout {
  std::int64_t row_gap = 0;        ///< elements between the end of a row and the next one
  std::int64_t offset = 0;         ///< elements before the first one: misaligns it
  std::int64_t column_stride = 1;  ///< 1 or more
  Packing packing = Packing::plain;
};

/// Memory of a matrix: every byte that is not an element is a sentinel, and elements begin as poison.
class Matrix {
 public:
  Matrix() = default;
  Matrix(ElementType type, std::int64_t rows, std::int64_t cols, MatrixLayout layout = {});

  View view() const { return view_; }
  /// All of its memory, sentinels too.
  std::span<std::byte> memory() const { return {begin_, memory_.size()}; }
  std::int64_t rows() const { return view_.rows; }
  std::int64_t cols() const { return view_.cols; }
  /// Elements row by row without gaps.
  std::vector<std::byte> bytes() const;
  /// Fills every element with poison again (NaN for floats, a pattern for integers).
  void poison();
  /// Whether all bytes that belong to no element still hold the sentinel.
  bool sentinels_intact() const;

 private:
  std::vector<std::byte> memory_;
  std::byte* begin_ = nullptr;
  View view_;
};

}  // namespace lanefold::verify
