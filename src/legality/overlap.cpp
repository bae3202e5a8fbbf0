#include "legality/overlap.h"

#include <algorithm>
#include <bitset>

#include <fmt/format.h>

#include "ir/names.h"
#include "legality/lattice.h"

namespace lanefold::legality {
namespace {

using ir::Kind;

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

/// A bit per input. Not a vector: this runs once per call, and calls allocate nothing.
std::bitset<ir::kMaxNames> gathered_inputs(const ir::Program& program) {
  std::bitset<ir::kMaxNames> gathered;
  for (const ir::Value& v : program.values) {
    if (v.op == ir::Op::gather) gathered.set(v.index);
  }
  return gathered;
}

}  // namespace

bool may_overlap(const View& a, const View& b) { return may_touch(lattice_of(a), lattice_of(b)); }

std::optional<Diagnostic> check_overlap(const ir::Program& program, std::span<const View> inputs,
                                        std::span<const View> outputs) {
  if (inputs.size() != program.inputs.size() || outputs.size() != program.stores.size()) {
    internal_error("check_overlap: the views are not those of the program");
  }
  const std::bitset<ir::kMaxNames> gathered = gathered_inputs(program);
  const auto told = [](const auto& port) { return ir::part_name(port.name, port.part); };
  const auto place = [](const ir::Store& store) { return "output " + ir::declared_name(store.name, store.part); };
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const ir::Store& store = program.stores[o];
    const View out = by_kind(outputs[o], store.kind);
    if (may_touch_itself(lattice_of(out))) {
      return Diagnostic{
          Code::output_rows_overlap,
          fmt::format("output {} of {} rows and {} columns has strides {} and {}, which put two elements at "
                      "one address",
                      told(store), out.rows, out.cols, out.row_stride, out.column_stride),
          fmt::format("give it a row stride of at least {} elements", std::max<std::int64_t>(out.cols, 1)),
          place(store)};
    }
    for (std::size_t other = 0; other < o; ++other) {
      if (!may_overlap(out, by_kind(outputs[other], program.stores[other].kind))) continue;
      return Diagnostic{Code::outputs_overlap,
                        fmt::format("outputs {} and {} overlap in memory", told(program.stores[other]), told(store)),
                        "give each output a buffer of its own", place(store)};
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ir::Input& input = program.inputs[i];
      const View in = by_kind(inputs[i], input.kind);
      if (!may_overlap(out, in)) continue;
      if (!same_elements(out, in)) {
        return Diagnostic{
            Code::output_overlaps_input,
            fmt::format("output {} and input {} share memory, but not element for element", told(store), told(input)),
            "give the output a buffer of its own, or exactly the input's address, strides and element size",
            place(store)};
      }
      if (gathered[i] || input.kind.tag != Kind::Tag::element || store.kind.tag != Kind::Tag::element) {
        return Diagnostic{Code::output_overlaps_reread_input,
                          fmt::format("output {} replaces input {}, which the program {}", told(store), told(input),
                                      gathered[i] ? "gathers from" : "reads for more than one element"),
                          "give the output a buffer of its own", place(store)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace lanefold::legality
