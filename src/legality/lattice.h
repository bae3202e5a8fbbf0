// Memory of strided arrays in bytes: whether two of them, or two elements of one, share a byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/view.h"

namespace lanefold::legality {

/// Wide enough for an element count times a stride in bytes.
__extension__ using Wide = __int128;

/// The elements of an array: `element` bytes at the address plus every sum of `step` times 0 to `size` − 1 over the axes.
struct Lattice {
  struct Axis {
    Wide step = 0;
    std::int64_t size = 1;
    friend bool operator==(const Axis&, const Axis&) = default;
  };
  static constexpr std::size_t kMostAxes = 6;

  Wide address = 0, element = 1;
  std::array<Axis, kMostAxes> axes = {};  ///< those of more than one element
  std::size_t count = 0;
  bool empty = true;

  void add(Wide step, std::int64_t size);
};

/// The elements of a view. Packed codes are elements of 32 bytes, one per block of 34.
Lattice lattice_of(const View& view);
/// The same without its rows, of which there is at least one.
Lattice row_lattice(const View& view);

/// Whether some byte belongs to an element of both. Exact, but for strides so tangled that a search of some thousand steps finds
/// neither a common byte nor that there is none; true then. A part of an array that touches something is found wherever the
/// whole array is.
bool may_touch(const Lattice& a, const Lattice& b);

/// Whether two elements share a byte; as exact.
bool may_touch_itself(const Lattice& a);

/// The same elements in the same places of the same axes.
bool same_lattice(const Lattice& a, const Lattice& b);

}  // namespace lanefold::legality
