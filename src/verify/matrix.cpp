#include "verify/matrix.h"

#include <algorithm>
#include <cstring>

namespace lanefold::verify {
namespace {

constexpr std::byte kSentinel{0xe7};
constexpr std::byte kPoison{0xff};  // a NaN in every float format, −1 in every integer
constexpr std::int64_t kGuard = 128;

}  // namespace

Matrix::Matrix(ElementType type, std::int64_t rows, std::int64_t cols, MatrixLayout layout) {
  const auto size = static_cast<std::int64_t>(element_bytes(type));
  const std::int64_t packed = layout.packing == Packing::q8_0_codes ? (cols + 31) / 32 * 2 : 0;
  const std::int64_t row_stride = cols * layout.column_stride + packed + layout.row_gap;
  const std::int64_t elements = rows * row_stride + layout.offset;
  memory_.assign(static_cast<std::size_t>(elements * size + 2 * kGuard + 64), kSentinel);
  begin_ = memory_.data();
  // The first element of offset 0 is aligned to 64 bytes, so that an offset says how far from it a matrix lies.
  const auto base = reinterpret_cast<std::uintptr_t>(memory_.data() + kGuard);
  std::byte* aligned = memory_.data() + kGuard + (64 - base % 64) % 64;
  view_ = {.data = aligned + layout.offset * size,
           .type = type,
           .rows = rows,
           .cols = cols,
           .row_stride = row_stride,
           .column_stride = layout.column_stride,
           .packing = layout.packing};
  poison();
}

void Matrix::poison() {
  for (std::int64_t r = 0; r < view_.rows; ++r)
    for (std::int64_t c = 0; c < view_.cols; ++c)
      std::memset(view_.at(r, c), static_cast<int>(kPoison), element_bytes(view_.type));
}

std::vector<std::byte> Matrix::bytes() const {
  const std::size_t size = element_bytes(view_.type);
  std::vector<std::byte> all(static_cast<std::size_t>(view_.rows * view_.cols) * size);
  std::byte* to = all.data();
  for (std::int64_t r = 0; r < view_.rows; ++r) {
    if (view_.column_stride == 1 && view_.packing == Packing::plain && view_.cols > 0) {
      std::memcpy(to, view_.at(r, 0), static_cast<std::size_t>(view_.cols) * size);
      to += static_cast<std::size_t>(view_.cols) * size;
      continue;
    }
    for (std::int64_t c = 0; c < view_.cols; ++c, to += size) std::memcpy(to, view_.at(r, c), size);
  }
  return all;
}

bool Matrix::sentinels_intact() const {
  const std::size_t size = element_bytes(view_.type);
  std::vector<bool> element(memory_.size(), false);
  for (std::int64_t r = 0; r < view_.rows; ++r)
    for (std::int64_t c = 0; c < view_.cols; ++c) {
      const auto at = static_cast<std::size_t>(view_.at(r, c) - memory_.data());
      std::fill_n(element.begin() + static_cast<std::ptrdiff_t>(at), size, true);
    }
  for (std::size_t i = 0; i < memory_.size(); ++i)
    if (!element[i] && memory_[i] != kSentinel) return false;
  return true;
}

}  // namespace lanefold::verify
