// Tensors in memory or mapped from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "base/result.h"
#include "base/view.h"

namespace lanefold::tensor {

/// The most dimensions that a tensor may have; files with more are refused.
inline constexpr std::size_t kMaxDimensions = 32;

/// A strided array. `data` points at the element with all indices 0 and is aligned for the type; `owner` keeps it alive.
/// A tensor that was read from a file is mapped read-only: writing to it is a fault.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements, one per dimension
  ElementType type = ElementType::f32;
  std::byte* data = nullptr;
  std::shared_ptr<void> owner;

  /// The product of the shape; 1 for a scalar.
  std::int64_t element_count() const;
  /// Whether the elements lie in row-major order without gaps.
  bool is_contiguous() const;
};

/// A tensor of a safetensors file, or one to be written to such a file.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Zeroed memory of its own, contiguous and aligned to 64 bytes. The shape must be one that byte_count accepts.
Tensor make_tensor(std::vector<std::int64_t> shape, ElementType type);

/// The strides of a contiguous tensor: row-major, or column-major when `fortran_order`.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape, bool fortran_order = false);

/// The bytes of `shape` without gaps; shape_overflow where a size is negative, where there are too many dimensions, or
/// where the product of the sizes other than 0 leaves 63 bits.
Result<std::int64_t> byte_count(std::span<const std::int64_t> shape, ElementType type);

/// "[256, 384]".
std::string shape_text(std::span<const std::int64_t> shape);

/// The elements in row-major order without gaps: the tensor's own memory where it is so, else gathered in `storage`.
std::span<const std::byte> contiguous_bytes(const Tensor& tensor, std::vector<std::byte>& storage);

/// The tensor itself where `data` is aligned for its type, else a contiguous copy.
Tensor aligned(Tensor tensor);

/// The tensor as a matrix whose rows run along the last dimension. Leading dimensions are joined into one, which needs
/// that they lie evenly in memory (shape_not_rows otherwise). A vector is one row with row_stride 0, and so is a scalar.
Result<View> matrix_view(const Tensor& tensor);

}  // namespace lanefold::tensor
