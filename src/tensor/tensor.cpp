#include "tensor/tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <new>

namespace lanefold::tensor {
namespace {

constexpr std::align_val_t kAlignment{64};

std::int64_t joined_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

/// Calls `visit(at)` for the start of every innermost row, in row-major order.
template <class Visit>
void for_each_row(const Tensor& tensor, Visit visit) {
  const auto bytes = static_cast<std::int64_t>(element_bytes(tensor.type));
  const std::size_t outer = tensor.shape.empty() ? 0 : tensor.shape.size() - 1;
  std::vector<std::int64_t> index(outer, 0);
  const std::byte* at = tensor.data;
  while (true) {
    visit(at);
    std::size_t d = outer;
    while (true) {
      if (d == 0) return;
      --d;
      at += tensor.strides[d] * bytes;
      if (++index[d] < tensor.shape[d]) break;
      at -= tensor.strides[d] * bytes * tensor.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

std::int64_t Tensor::element_count() const { return joined_count(shape); }

bool Tensor::is_contiguous() const {
  if (element_count() <= 1) return true;
  std::int64_t expected = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

Tensor make_tensor(std::vector<std::int64_t> shape, ElementType type) {
  const Result<std::int64_t> bytes = byte_count(shape, type);
  if (!bytes) internal_error("make_tensor: " + bytes.error().message);
  const auto size = static_cast<std::size_t>(*bytes);
  void* memory = ::operator new(size == 0 ? 1 : size, kAlignment);
  if (size != 0) std::memset(memory, 0, size);
  Tensor tensor;
  tensor.owner = std::shared_ptr<void>(memory, [](void* p) { ::operator delete(p, kAlignment); });
  tensor.data = static_cast<std::byte*>(memory);
  tensor.strides = contiguous_strides(shape);
  tensor.shape = std::move(shape);
  tensor.type = type;
  return tensor;
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape, bool fortran_order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t d = fortran_order ? i : shape.size() - 1 - i;
    strides[d] = step;
    step *= shape[d] == 0 ? 1 : shape[d];
  }
  return strides;
}

Result<std::int64_t> byte_count(std::span<const std::int64_t> shape, ElementType type) {
  if (shape.size() > kMaxDimensions) {
    return Diagnostic{Code::shape_overflow,
                      fmt::format("a shape has {} dimensions, more than {}", shape.size(), kMaxDimensions),
                      "join dimensions before writing the tensor", ""};
  }
  bool empty = false;
  auto bytes = static_cast<std::int64_t>(element_bytes(type));
  for (const std::int64_t size : shape) {
    if (size < 0) {
      return Diagnostic{Code::shape_overflow, fmt::format("shape {} has a negative size", shape_text(shape)),
                        "sizes count elements and begin at 0", ""};
    }
    if (size == 0) {
      empty = true;
    } else if (bytes > std::numeric_limits<std::int64_t>::max() / size) {
      return Diagnostic{Code::shape_overflow,
                        fmt::format("shape {} of {} needs more than 2^63 bytes", shape_text(shape), element_name(type)),
                        "check the shape in the file's header", ""};
    } else {
      bytes *= size;
    }
  }
  return empty ? 0 : bytes;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::span<const std::byte> contiguous_bytes(const Tensor& tensor, std::vector<std::byte>& storage) {
  const std::size_t element = element_bytes(tensor.type);
  const std::size_t size = static_cast<std::size_t>(tensor.element_count()) * element;
  if (size == 0) return {};
  if (tensor.is_contiguous()) return {tensor.data, size};
  storage.resize(size);
  const std::int64_t columns = tensor.shape.back();
  const std::int64_t step = tensor.strides.back() * static_cast<std::int64_t>(element);
  std::byte* to = storage.data();
  for_each_row(tensor, [&](const std::byte* from) {
    for (std::int64_t c = 0; c < columns; ++c, to += element) std::memcpy(to, from + c * step, element);
  });
  return storage;
}

Tensor aligned(Tensor tensor) {
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % element_bytes(tensor.type) == 0) return tensor;
  std::vector<std::byte> storage;
  const std::span<const std::byte> bytes = contiguous_bytes(tensor, storage);
  Tensor copy = make_tensor(tensor.shape, tensor.type);
  if (!bytes.empty()) std::memcpy(copy.data, bytes.data(), bytes.size());
  return copy;
}

Result<View> matrix_view(const Tensor& tensor) {
  View view;
  view.data = tensor.data;
  view.type = tensor.type;
  view.rows = 1;
  view.cols = 1;
  if (tensor.shape.empty()) return view;
  view.cols = tensor.shape.back();
  view.column_stride = tensor.strides.back();
  const std::size_t leading = tensor.shape.size() - 1;
  view.rows = joined_count(std::span(tensor.shape).first(leading));
  if (view.rows == 0) return view;
  // Joined from the innermost outwards; a dimension of size 1 has no say.
  std::int64_t joined = 1;
  for (std::size_t d = leading; d-- > 0;) {
    if (tensor.shape[d] == 1) continue;
    if (joined == 1) {
      view.row_stride = tensor.strides[d];
    } else if (tensor.strides[d] != view.row_stride * joined) {
      return Diagnostic{Code::shape_not_rows,
                        fmt::format("the leading dimensions of a tensor of shape {} and strides {} do not lie evenly "
                                    "in memory",
                                    shape_text(tensor.shape), shape_text(tensor.strides)),
                        "store it in row-major order, or with two dimensions", ""};
    }
    joined *= tensor.shape[d];
  }
  return view;
}

}  // namespace lanefold::tensor
