// The memory behind buffer arguments: which bytes may be touched, which are written, and by whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/view.h"
#include "lane/module.h"
#include "machine/access.h"
#include "machine/symbols.h"

namespace lanefold::machine {

/// A piece of memory that a launch may use, by the name of the arguments that stand for it.
struct Buffer {
  std::string name;
  lane::Role role = lane::Role::input;  ///< input, output or inout
  View view;                            ///< its elements; on symbols no data is needed
};

/// One buffer's bytes. Addresses are bytes from element (0, 0), negative ones too where a stride is.
class Region {
 public:
  /// `unit` divides every access's address and size.
  Region(Buffer buffer, std::uint32_t unit, bool symbolic);

  const Buffer& buffer() const { return buffer_; }
  std::byte* data() const { return buffer_.view.data; }
  bool symbolic() const { return symbolic_; }

  /// Whether all bytes belong to elements of the buffer.
  bool inside(std::int64_t address, std::uint32_t bytes) const { return all(address, bytes, kInside); }
  /// Whether all bytes have been written, before the run or by it.
  bool known(std::int64_t address, std::uint32_t bytes) const { return all(address, bytes, kKnown); }
  /// Whether this launch has written any of the bytes.
  bool written(std::int64_t address, std::uint32_t bytes) const { return any(address, bytes, kWritten); }
  void mark_read(std::int64_t address, std::uint32_t bytes) { mark(address, bytes, kRead); }
  void mark_written(std::int64_t address, std::uint32_t bytes) { mark(address, bytes, kKnown | kWritten | kStored); }
  /// Whether any launch has stored to all of the bytes.
  bool stored(std::int64_t address, std::uint32_t bytes) const { return all(address, bytes, kStored); }
  /// Whether any launch has stored to any of the bytes, all of which belong to the buffer.
  bool any_stored(std::int64_t address, std::uint32_t bytes) const { return any(address, bytes, kStored); }

  /// A launch begins: nobody has touched anything in it. Only buffers that are stored to need tracks.
  void begin_launch(bool tracked);
  bool tracked() const { return !tracks_.empty(); }
  Track* tracks(std::int64_t address) { return &tracks_[index(address)]; }
  std::uint32_t units(std::uint32_t bytes) const { return bytes / unit_; }
  std::uint32_t unit() const { return unit_; }

  /// On symbols: what stands in the bytes.
  NodeId load_symbol(Symbols& symbols, std::int64_t address, std::uint32_t bytes) const;
  void store_symbol(std::int64_t address, std::uint32_t bytes, NodeId stored);

  /// Distinct units read, and written.
  std::uint64_t units_read() const { return count(kRead); }
  std::uint64_t units_written() const { return count(kStored); }
  /// The first address of a unit that belongs to an element and that no launch has written, if any.
  std::optional<std::int64_t> first_unwritten() const;

 private:
  static constexpr std::uint8_t kInside = 1, kKnown = 2, kRead = 4, kWritten = 8, kStored = 16;

  std::size_t index(std::int64_t address) const { return static_cast<std::size_t>((address - first_) / unit_); }
  bool within(std::int64_t address, std::uint32_t bytes) const {
    return address >= first_ && bytes <= length_ && address - first_ <= static_cast<std::int64_t>(length_ - bytes);
  }
  bool all(std::int64_t address, std::uint32_t bytes, std::uint8_t flag) const;
  bool any(std::int64_t address, std::uint32_t bytes, std::uint8_t flag) const;
  void mark(std::int64_t address, std::uint32_t bytes, std::uint8_t flag);
  std::uint64_t count(std::uint8_t flag) const;

  Buffer buffer_;
  std::uint32_t unit_;
  bool symbolic_;
  std::int64_t first_ = 0;    ///< the lowest address of an element
  std::uint64_t length_ = 0;  ///< bytes from there to the end of the last one
  std::vector<std::uint8_t> flags_;
  std::vector<Track> tracks_;
  std::vector<StoredByte> cells_;  ///< by byte; empty until the first store
};

/// All buffers of a module, through all its launches.
class GlobalMemory {
 public:
  /// `symbolic`: contents are symbols, and views need no data.
  GlobalMemory(const lane::Module& module, std::span<const Buffer> buffers, bool symbolic = false);

  bool symbolic() const { return symbolic_; }
  /// The region of a buffer argument, or of the one whose memory it is; null where no buffer has that name.
  Region* region(const lane::Kernel& kernel, std::uint32_t argument);
  Region* find(std::string_view name);
  std::span<Region> regions() { return regions_; }

 private:
  std::vector<Region> regions_;
  bool symbolic_;
};

}  // namespace lanefold::machine
