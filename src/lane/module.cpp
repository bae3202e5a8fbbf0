#include "lane/module.h"

#include <iterator>
#include <limits>

namespace lanefold::lane {
namespace {

constexpr std::uint32_t kSharedAlignment = 64;

constexpr std::string_view kNames[] = {
#define LANEFOLD_LANE_OP(name, operands) #name,
#include "lane/ops.def"
#undef LANEFOLD_LANE_OP
};

constexpr int kOperands[] = {
#define LANEFOLD_LANE_OP(name, operands) operands,
#include "lane/ops.def"
#undef LANEFOLD_LANE_OP
};

std::uint32_t align_up(std::uint32_t bytes) {
  return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

std::uint32_t end_of(const Kernel& kernel, std::size_t arrays) {
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < arrays; ++i) {
    const SharedArray& array = kernel.shared[i];
    end = align_up(end) + array.size * static_cast<std::uint32_t>(element_bytes(array.type));
  }
  return end;
}

}  // namespace

std::string_view op_name(Op op) {
  const auto index = static_cast<std::size_t>(op);
  if (index >= std::size(kNames)) internal_error("lane::op_name: no such operation");
  return kNames[index];
}

int op_operands(Op op) {
  const auto index = static_cast<std::size_t>(op);
  if (index >= std::size(kOperands)) internal_error("lane::op_operands: no such operation");
  return kOperands[index];
}

std::int64_t extent(const Dimension& d, std::int64_t rows, std::int64_t cols) {
  if (d.of == Dimension::Of::fixed) return d.amount;
  const std::int64_t size = d.of == Dimension::Of::rows ? rows : cols;
  return size / d.amount + (size % d.amount != 0 ? 1 : 0);
}

std::int64_t launch_threadgroups(const Kernel& k, std::int64_t rows, std::int64_t cols) {
  if (k.threadgroups != 0) return k.threadgroups;
  std::int64_t count = extent({Dimension::Of::rows, k.rows_per_threadgroup}, rows, cols);
  const std::int64_t across =
      k.cols_per_threadgroup == 0 ? 1 : extent({Dimension::Of::cols, k.cols_per_threadgroup}, rows, cols);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 64;
  if (across != 0 && count > kMost / across) return kMost;
  count *= across;
  if (count > kMost / k.threadgroups_per_row) return kMost;
  count *= k.threadgroups_per_row;
  return (count + k.cluster - 1) / k.cluster * k.cluster;
}

std::uint32_t shared_bytes(const Kernel& kernel) { return end_of(kernel, kernel.shared.size()); }

std::uint32_t shared_offset(const Kernel& kernel, std::uint32_t array) {
  if (array >= kernel.shared.size()) internal_error("lane::shared_offset: no such threadgroup array");
  return align_up(end_of(kernel, array));
}

}  // namespace lanefold::lane
