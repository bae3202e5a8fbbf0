#include "api/launch_overlap.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace lanefold::api {
namespace {

/// Wide enough for an element count times a stride in bytes.
__extension__ using Wide = __int128;

Wide magnitude(Wide step) { return step < 0 ? -step : step; }

Wide common_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return magnitude(a);
}

/// One axis of a tensor: elements `step` bytes apart.
struct Axis {
  Wide step = 0;
  std::int64_t size = 1;
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A tensor in bytes. Axes of one element are left out; the columns come last.
struct Lattice {
  Wide address = 0, element = 1;
  std::array<Axis, kMostDimensions + 1> axes = {};
  std::size_t count = 0;
  std::size_t leading = 0;  ///< axes that are not the columns

  /// The first byte and the one behind the last, relative to the address, of the axes but one.
  struct Span {
    Wide low = 0, high = 0;
  };
  Span span(std::size_t without) const {
    Span s = {0, element};
    for (std::size_t a = 0; a < count; ++a) {
      if (a == without) continue;
      const Wide reach = axes[a].step * (axes[a].size - 1);
      (reach < 0 ? s.low : s.high) += reach;
    }
    return s;
  }
};
constexpr std::size_t kNone = ~std::size_t{0};

Lattice lattice(std::span<const Group> groups, const Placed& placed) {
  Lattice l;
  l.address = static_cast<Wide>(reinterpret_cast<std::uintptr_t>(placed.view.data));
  const auto bytes = static_cast<Wide>(element_bytes(placed.view.type));
  // Packed codes are elements of 32 bytes, one per block of 34.
  const bool packed = placed.view.packing == Packing::q8_0_codes;
  l.element = packed ? 32 : bytes;
  if (placed.has_rows)
    for (std::size_t g = 0; g < groups.size(); ++g) l.axes[l.count++] = {placed.steps[g] * bytes, groups[g].size};
  l.leading = l.count;
  const std::int64_t cols = packed ? (placed.view.cols + 31) / 32 : placed.view.cols;
  if (cols > 1) l.axes[l.count++] = {packed ? 34 : placed.view.column_stride * bytes, cols};
  return l;
}

/// Elements are apart where each axis steps over all of the narrower ones.
bool writes_twice(const Lattice& l) {
  for (std::size_t a = 0; a < l.count; ++a) {
    const Wide step = magnitude(l.axes[a].step);
    Wide covered = 0;  // from the first to the last element of the narrower axes
    for (std::size_t other = 0; other < l.count; ++other) {
      const Wide narrower = magnitude(l.axes[other].step);
      if (narrower == step && other != a) return true;
      if (narrower < step) covered += narrower * (l.axes[other].size - 1);
    }
    if (step <= covered) return true;
  }
  return false;
}

/// Whether [0, first) and [distance, distance + second) are apart on a circle of length `around`.
bool apart_modulo(Wide around, Wide first, Wide distance, Wide second) {
  const Wide d = (distance % around + around) % around;
  return d >= first && d + second <= around;
}

bool may_touch(const Lattice& a, const Lattice& b) {
  const Lattice::Span x = a.span(kNone), y = b.span(kNone);
  if (a.address + x.high <= b.address + y.low || b.address + y.high <= a.address + x.low) return false;
  Wide divisor = 0;
  for (const Lattice* l : {&a, &b})
    for (std::size_t i = 0; i < l->count; ++i) divisor = common_divisor(divisor, l->axes[i].step);
  if (divisor != 0 && apart_modulo(divisor, a.element, b.address - a.address, b.element)) return false;
  // Leading axes of one step: compare what the others cover, modulo that step. The columns are left out, as driver::check_call
  // leaves them out, which must find no overlap in a later launch that this has not found.
  for (std::size_t i = 0; i < a.leading; ++i)
    for (std::size_t j = 0; j < b.leading; ++j) {
      const Wide step = magnitude(a.axes[i].step);
      if (step == 0 || step != magnitude(b.axes[j].step)) continue;
      const Lattice::Span p = a.span(i), q = b.span(j);
      if (apart_modulo(step, p.high - p.low, b.address + q.low - a.address - p.low, q.high - q.low)) return false;
    }
  return true;
}

bool same_elements(const Lattice& a, const Lattice& b) {
  return a.address == b.address && a.element == b.element && a.leading == b.leading && a.count == b.count &&
         a.axes == b.axes;
}

}  // namespace

std::optional<Diagnostic> launch_overlap(const ir::Program& program, std::span<const Group> groups,
                                         std::span<const Placed> inputs, std::span<const Placed> outputs) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].view.data == nullptr || outputs[o].view.cols == 0) continue;
    const std::string& name = program.stores[o].name;
    const Lattice out = lattice(groups, outputs[o]);
    if (writes_twice(out))
      return Diagnostic{Code::output_rows_overlap,
                        fmt::format("the strides of output {} put two elements at one address", name),
                        "give each dimension a stride that steps over all of the narrower ones", "output " + name};
    for (std::size_t other = 0; other < o; ++other)
      if (outputs[other].view.data != nullptr && outputs[other].view.cols > 0 &&
          may_touch(out, lattice(groups, outputs[other])))
        return Diagnostic{Code::outputs_overlap,
                          fmt::format("outputs {} and {} overlap in memory", program.stores[other].name, name),
                          "give each output a buffer of its own", "output " + name};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].view.data == nullptr || inputs[i].view.cols == 0) continue;
      const Lattice in = lattice(groups, inputs[i]);
      if (may_touch(out, in) && !same_elements(out, in))
        return Diagnostic{
            Code::output_overlaps_input,
            fmt::format("output {} and input {} share memory, but not element for element", name,
                        program.inputs[i].name),
            "give the output a buffer of its own, or exactly the input's address, strides and element size",
            "output " + name};
    }
  }
  return std::nullopt;
}

}  // namespace lanefold::api
