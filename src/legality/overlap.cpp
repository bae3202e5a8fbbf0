#include "legality/overlap.h"

#include <algorithm>
#include <bitset>

#include <fmt/format.h>

#include "ir/names.h"

namespace lanefold::legality {
namespace {

using ir::Kind;

/// Wide enough for a row count times a stride in bytes.
__extension__ using Wide = __int128;

/// The bytes [low, high) that a view spans, and the strides in bytes of its axes of more than one element (else 0).
struct Extent {
  Wide low = 0, high = 0;
  Wide row_step = 0, column_step = 0;
  Wide element = 1;
  bool empty = true;
};

Wide address(const View& v) { return static_cast<Wide>(reinterpret_cast<std::uintptr_t>(v.data)); }

/// Packed codes as elements of 32 bytes, one per block of 34.
View by_blocks(View v) {
  if (v.packing != Packing::q8_0_codes) return v;
  v.cols = (v.cols + 31) / 32;
  v.column_stride = 34;
  return v;
}

Extent extent(const View& whole) {
  const View v = by_blocks(whole);
  Extent e;
  const auto bytes = static_cast<Wide>(element_bytes(v.type));
  e.element = v.packing == Packing::q8_0_codes ? 32 : bytes;
  if (v.data == nullptr || v.rows <= 0 || v.cols <= 0) return e;
  e.empty = false;
  if (v.rows > 1) e.row_step = v.row_stride * bytes;
  if (v.cols > 1) e.column_step = v.column_stride * bytes;
  const Wide rows = static_cast<Wide>(v.rows - 1) * e.row_step;
  const Wide columns = static_cast<Wide>(v.cols - 1) * e.column_step;
  const Wide base = address(v);
  e.low = base + std::min<Wide>(rows, 0) + std::min<Wide>(columns, 0);
  e.high = base + std::max<Wide>(rows, 0) + std::max<Wide>(columns, 0) + e.element;
  return e;
}

/// A [rows] output has one element per row whatever its view's columns say, and a [cols] input one row.
View by_kind(View v, Kind kind) {
  if (kind.tag == Kind::Tag::row) v.cols = std::min<std::int64_t>(v.cols, 1);
  if (kind.tag == Kind::Tag::column || kind.tag == Kind::Tag::uniform) v.rows = std::min<std::int64_t>(v.rows, 1);
  return v;
}

bool same_elements(const View& a, const View& b) {
  return a.data == b.data && element_bytes(a.type) == element_bytes(b.type) && a.rows == b.rows && a.cols == b.cols &&
         (a.rows <= 1 || a.row_stride == b.row_stride) && (a.cols <= 1 || a.column_stride == b.column_stride) &&
         a.packing == b.packing;
}

Wide magnitude(Wide stride) { return stride < 0 ? -stride : stride; }

Wide common_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return magnitude(a);
}

/// Two elements of one view share an address unless one axis steps over all of the other.
bool self_overlap(const View& whole) {
  const View v = by_blocks(whole);
  if (v.rows <= 0 || v.cols <= 0) return false;
  const Wide row = magnitude(v.row_stride), column = magnitude(v.column_stride);
  if (v.rows == 1) return v.cols > 1 && column == 0;
  if (v.cols == 1) return row == 0;
  const auto covers = [](Wide outer, Wide inner, std::int64_t count) {
    return inner > 0 && outer > inner * (count - 1);
  };
  return !covers(row, column, v.cols) && !covers(column, row, v.rows);
}

/// A bit per input. Not a vector: this runs once per call, and calls allocate nothing.
std::bitset<ir::kMaxNames> gathered_inputs(const ir::Program& program) {
  std::bitset<ir::kMaxNames> gathered;
  for (const ir::Value& v : program.values) {
    if (v.op == ir::Op::gather) gathered.set(v.index);
  }
  return gathered;
}

}  // namespace

bool may_overlap(const View& a, const View& b) {
  const Extent x = extent(a), y = extent(b);
  if (x.empty || y.empty || x.high <= y.low || y.high <= x.low) return false;
  // All distances between an element of one and of the other are d plus multiples of g.
  const Wide g = common_divisor(common_divisor(x.row_step, x.column_step), common_divisor(y.row_step, y.column_step));
  if (g != 0) {
    const Wide d = ((address(b) - address(a)) % g + g) % g;
    if (d >= x.element && d + y.element <= g) return false;
  }
  // Rows of one length of step: compare the bytes that a row of each covers, modulo the step.
  const Wide step = magnitude(x.row_step);
  if (step != 0 && step == magnitude(y.row_step)) {
    const View first_a{a.data, a.type, 1, a.cols, 0, a.column_stride, a.packing};
    const View first_b{b.data, b.type, 1, b.cols, 0, b.column_stride, b.packing};
    const Extent p = extent(first_a), q = extent(first_b);
    const Wide d = ((q.low - p.low) % step + step) % step;
    if (d >= p.high - p.low && d + (q.high - q.low) <= step) return false;
  }
  return true;
}

std::optional<Diagnostic> check_overlap(const ir::Program& program, std::span<const View> inputs,
                                        std::span<const View> outputs) {
  if (inputs.size() != program.inputs.size() || outputs.size() != program.stores.size()) {
    internal_error("check_overlap: the views are not those of the program");
  }
  const std::bitset<ir::kMaxNames> gathered = gathered_inputs(program);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const ir::Store& store = program.stores[o];
    const View out = by_kind(outputs[o], store.kind);
    if (self_overlap(out)) {
      return Diagnostic{
          Code::output_rows_overlap,
          fmt::format("output {} of {} rows and {} columns has strides {} and {}, which put two elements at "
                      "one address",
                      store.name, out.rows, out.cols, out.row_stride, out.column_stride),
          fmt::format("give it a row stride of at least {} elements", std::max<std::int64_t>(out.cols, 1)),
          "output " + store.name};
    }
    for (std::size_t other = 0; other < o; ++other) {
      if (!may_overlap(out, by_kind(outputs[other], program.stores[other].kind))) continue;
      return Diagnostic{Code::outputs_overlap,
                        fmt::format("outputs {} and {} overlap in memory", program.stores[other].name, store.name),
                        "give each output a buffer of its own", "output " + store.name};
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ir::Input& input = program.inputs[i];
      const View in = by_kind(inputs[i], input.kind);
      if (!may_overlap(out, in)) continue;
      if (!same_elements(out, in)) {
        return Diagnostic{
            Code::output_overlaps_input,
            fmt::format("output {} and input {} share memory, but not element for element", store.name, input.name),
            "give the output a buffer of its own, or exactly the input's address, strides and element size",
            "output " + store.name};
      }
      if (gathered[i] || input.kind.tag != Kind::Tag::element || store.kind.tag != Kind::Tag::element) {
        return Diagnostic{Code::output_overlaps_reread_input,
                          fmt::format("output {} replaces input {}, which the program {}", store.name, input.name,
                                      gathered[i] ? "gathers from" : "reads for more than one element"),
                          "give the output a buffer of its own", "output " + store.name};
      }
    }
  }
  return std::nullopt;
}

}  // namespace lanefold::legality
