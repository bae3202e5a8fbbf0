#include "machine/global_memory.h"

#include <algorithm>
#include <numeric>

namespace lanefold::machine {
namespace {

constexpr NodeId kNothing = ~NodeId{0};

std::string_view owner_name(const lane::Kernel& kernel, std::uint32_t argument) {
  const lane::Argument& a = kernel.arguments[argument];
  return kernel.arguments[a.memory_of.value_or(argument)].name;
}

/// The widest piece that all accesses to the buffer are made of.
std::uint32_t unit_of(const lane::Module& module, std::string_view name) {
  std::uint32_t unit = 0;
  for (const lane::Kernel& kernel : module.kernels)
    for (std::uint32_t i = 0; i < kernel.arguments.size(); ++i)
      if (kernel.arguments[i].buffer && owner_name(kernel, i) == name)
        unit = std::gcd(unit, static_cast<std::uint32_t>(element_bytes(kernel.arguments[i].type)));
  return std::max(unit, 1u);
}

}  // namespace

Region::Region(Buffer buffer, std::uint32_t unit, bool symbolic)
    : buffer_(std::move(buffer)), unit_(unit), symbolic_(symbolic) {
  const View& view = buffer_.view;
  if (view.rows <= 0 || view.cols <= 0) return;
  const auto bytes = static_cast<std::int64_t>(element_bytes(view.type));
  const auto lowest = [](std::int64_t stride, std::int64_t count) {
    return std::min<std::int64_t>(0, stride * (count - 1));
  };
  const auto highest = [](std::int64_t stride, std::int64_t count) {
    return std::max<std::int64_t>(0, stride * (count - 1));
  };
  first_ = (lowest(view.row_stride, view.rows) + lowest(view.column_stride, view.cols)) * bytes;
  const std::int64_t skipped = view.offset(0, view.cols - 1) - view.column_stride * (view.cols - 1);
  const std::int64_t end =
      (highest(view.row_stride, view.rows) + highest(view.column_stride, view.cols) + skipped + 1) * bytes;
  length_ = static_cast<std::uint64_t>(end - first_);
  flags_.assign(static_cast<std::size_t>(length_ / unit_), 0);
  const std::uint8_t flag = buffer_.role == lane::Role::output ? kInside : kInside | kKnown;
  for (std::int64_t r = 0; r < (view.row_stride == 0 ? 1 : view.rows); ++r) {
    const std::int64_t row = r * view.row_stride * bytes;
    if (view.column_stride == 1 && view.packing == Packing::plain) {
      std::fill_n(flags_.begin() + static_cast<std::ptrdiff_t>(index(row)), view.cols * bytes / unit_, flag);
      continue;
    }
    for (std::int64_t c = 0; c < (view.column_stride == 0 ? 1 : view.cols); ++c)
      std::fill_n(flags_.begin() + static_cast<std::ptrdiff_t>(index(view.offset(r, c) * bytes)), bytes / unit_, flag);
  }
}

bool Region::all(std::int64_t address, std::uint32_t bytes, std::uint8_t flag) const {
  if (!within(address, bytes)) return false;
  const std::uint8_t* at = flags_.data() + index(address);
  for (std::uint32_t i = 0; i < bytes / unit_; ++i)
    if ((at[i] & flag) == 0) return false;
  return true;
}

bool Region::any(std::int64_t address, std::uint32_t bytes, std::uint8_t flag) const {
  const std::uint8_t* at = flags_.data() + index(address);
  for (std::uint32_t i = 0; i < bytes / unit_; ++i)
    if ((at[i] & flag) != 0) return true;
  return false;
}

void Region::mark(std::int64_t address, std::uint32_t bytes, std::uint8_t flag) {
  std::uint8_t* at = flags_.data() + index(address);
  for (std::uint32_t i = 0; i < bytes / unit_; ++i) at[i] |= flag;
}

std::uint64_t Region::count(std::uint8_t flag) const {
  return static_cast<std::uint64_t>(
      std::count_if(flags_.begin(), flags_.end(), [&](std::uint8_t f) { return (f & flag) != 0; }));
}

void Region::begin_launch(bool tracked) {
  for (std::uint8_t& flags : flags_) flags &= static_cast<std::uint8_t>(~kWritten);
  tracks_.assign(tracked ? flags_.size() : 0, Track{});
}

std::optional<std::int64_t> Region::first_unwritten() const {
  for (std::size_t i = 0; i < flags_.size(); ++i)
    if ((flags_[i] & kInside) != 0 && (flags_[i] & kKnown) == 0) return first_ + static_cast<std::int64_t>(i) * unit_;
  return std::nullopt;
}

NodeId Region::load_symbol(Symbols& symbols, std::int64_t address, std::uint32_t bytes) const {
  const auto at = static_cast<std::size_t>(address - first_);
  const auto untouched = [&](std::uint32_t i) { return cells_.empty() || cells_[at + i].node == kNothing; };
  std::uint32_t old = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) old += untouched(i);
  if (old == bytes) return symbols.input(buffer_.name, address, bytes);
  std::vector<StoredByte> pieces(bytes);
  for (std::uint32_t i = 0; i < bytes; ++i)
    pieces[i] = untouched(i) ? StoredByte{symbols.input(buffer_.name, address + i, 1), 0} : cells_[at + i];
  return symbols.join(pieces);
}

void Region::store_symbol(std::int64_t address, std::uint32_t bytes, NodeId stored) {
  if (cells_.empty()) cells_.assign(static_cast<std::size_t>(length_), {kNothing, 0});
  for (std::uint32_t i = 0; i < bytes; ++i) cells_[static_cast<std::size_t>(address - first_) + i] = {stored, i};
}

GlobalMemory::GlobalMemory(const lane::Module& module, std::span<const Buffer> buffers, bool symbolic)
    : symbolic_(symbolic) {
  for (const Buffer& buffer : buffers) regions_.emplace_back(buffer, unit_of(module, buffer.name), symbolic);
}

Region* GlobalMemory::find(std::string_view name) {
  const auto found =
      std::find_if(regions_.begin(), regions_.end(), [&](const Region& r) { return r.buffer().name == name; });
  return found == regions_.end() ? nullptr : &*found;
}

Region* GlobalMemory::region(const lane::Kernel& kernel, std::uint32_t argument) {
  return find(owner_name(kernel, argument));
}

}  // namespace lanefold::machine
