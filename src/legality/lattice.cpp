#include "legality/lattice.h"

#include <algorithm>

namespace lanefold::legality {
namespace {

/// A multiple of `step`, which is positive: from `low` times to `high` times.
struct Term {
  Wide step = 0;
  Wide low = 0, high = 0;
};

Wide floor_div(Wide a, Wide b) {
  const Wide quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}
Wide ceil_div(Wide a, Wide b) { return -floor_div(-a, b); }

/// Whether a sum of terms lies in an interval. The greatest steps are chosen first: where axes step over all narrower ones, as
/// those of most arrays do, one or two multiples of each can be right.
class Sums {
 public:
  /// Terms of equal steps are one.
  void add(Wide step, Wide low, Wide high) {
    if (step == 0) return;
    if (step < 0) {
      step = -step;
      std::swap(low, high);
      low = -low;
      high = -high;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (terms_[i].step != step) continue;
      terms_[i].low += low;
      terms_[i].high += high;
      return;
    }
    terms_[count_++] = {step, low, high};
  }

  bool meet(Wide low, Wide high) {
    std::sort(terms_.begin(), terms_.begin() + static_cast<std::ptrdiff_t>(count_),
              [](const Term& a, const Term& b) { return a.step > b.step; });
    Wide least = 0, most = 0, divisor = 0;
    for (std::size_t i = count_; i-- > 0;) {
      least += terms_[i].step * terms_[i].low;
      most += terms_[i].step * terms_[i].high;
      divisor = common_divisor(divisor, terms_[i].step);
      rest_[i] = {least, most, divisor};
    }
    steps_ = 0;
    return search(0, low, high);
  }

 private:
  static constexpr int kMostSteps = 4096;
  /// What the terms from one on can be.
  struct Rest {
    Wide least = 0, most = 0, divisor = 0;
  };

  static Wide common_divisor(Wide a, Wide b) {
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  bool search(std::size_t from, Wide low, Wide high) {
    if (from == count_) return low <= 0 && 0 <= high;
    const Rest& rest = rest_[from];
    low = std::max(low, rest.least);
    high = std::min(high, rest.most);
    if (low > high || floor_div(high, rest.divisor) * rest.divisor < low) return false;
    const Term& term = terms_[from];
    const Wide least = from + 1 < count_ ? rest_[from + 1].least : 0,
               most = from + 1 < count_ ? rest_[from + 1].most : 0;
    const Wide first = std::max(term.low, ceil_div(low - most, term.step));
    const Wide last = std::min(term.high, floor_div(high - least, term.step));
    for (Wide times = first; times <= last; ++times) {
      if (++steps_ > kMostSteps) return true;
      if (search(from + 1, low - times * term.step, high - times * term.step)) return true;
    }
    return false;
  }

  std::array<Term, 2 * Lattice::kMostAxes> terms_ = {};
  std::array<Rest, 2 * Lattice::kMostAxes> rest_ = {};
  std::size_t count_ = 0;
  int steps_ = 0;
};

}  // namespace

void Lattice::add(Wide step, std::int64_t size) {
  if (size <= 0) empty = true;
  if (size > 1) axes[count++] = {step, size};
}

Lattice row_lattice(const View& view) {
  Lattice l;
  l.address = static_cast<Wide>(reinterpret_cast<std::uintptr_t>(view.data));
  l.empty = view.data == nullptr;
  const auto bytes = static_cast<Wide>(element_bytes(view.type));
  const bool packed = view.packing == Packing::q8_0_codes;
  l.element = packed ? 32 : bytes;
  l.add(packed ? 34 : view.column_stride * bytes, packed ? (view.cols + 31) / 32 : view.cols);
  return l;
}

Lattice lattice_of(const View& view) {
  Lattice l = row_lattice(view);
  l.add(view.row_stride * static_cast<Wide>(element_bytes(view.type)), view.rows);
  return l;
}

bool may_touch(const Lattice& a, const Lattice& b) {
  if (a.empty || b.empty) return false;
  Sums sums;
  for (std::size_t i = 0; i < a.count; ++i) sums.add(a.axes[i].step, 0, a.axes[i].size - 1);
  for (std::size_t i = 0; i < b.count; ++i) sums.add(b.axes[i].step, 1 - b.axes[i].size, 0);
  // An element of a, less one of b.
  const Wide distance = a.address - b.address;
  return sums.meet(1 - a.element - distance, b.element - 1 - distance);
}

bool may_touch_itself(const Lattice& a) {
  if (a.empty) return false;
  // Two elements differ first in some axis, where one of them is further on.
  for (std::size_t first = 0; first < a.count; ++first) {
    const Lattice::Axis& axis = a.axes[first];
    if (axis.step == 0) return true;
    Sums sums;
    for (std::size_t i = first + 1; i < a.count; ++i) sums.add(a.axes[i].step, 1 - a.axes[i].size, a.axes[i].size - 1);
    sums.add(axis.step, 1, axis.size - 1);
    if (sums.meet(1 - a.element, a.element - 1)) return true;
  }
  return false;
}

bool same_lattice(const Lattice& a, const Lattice& b) {
  return a.address == b.address && a.element == b.element && a.empty == b.empty && a.count == b.count &&
         a.axes == b.axes;
}

}  // namespace lanefold::legality
