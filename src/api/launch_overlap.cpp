#include "api/launch_overlap.h"

#include <fmt/format.h>

#include "ir/names.h"
#include "legality/lattice.h"

namespace lanefold::api {
namespace {

/// All launches of a tensor at once.
legality::Lattice lattice(std::span<const Group> groups, const Placed& placed) {
  legality::Lattice l = legality::row_lattice(placed.view);
  const auto bytes = static_cast<legality::Wide>(element_bytes(placed.view.type));
  if (placed.has_rows)
    for (std::size_t g = 0; g < groups.size(); ++g) l.add(placed.steps[g] * bytes, groups[g].size);
  return l;
}

}  // namespace

std::optional<Diagnostic> launch_overlap(const ir::Program& program, std::span<const Group> groups,
                                         std::span<const Placed> inputs, std::span<const Placed> outputs) {
  const auto told = [](const auto& port) { return ir::part_name(port.name, port.part); };
  const auto place = [](const ir::Store& store) { return "output " + ir::declared_name(store.name, store.part); };
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].view.data == nullptr || outputs[o].view.cols == 0) continue;
    const legality::Lattice out = lattice(groups, outputs[o]);
    if (legality::may_touch_itself(out))
      return Diagnostic{
          Code::output_rows_overlap,
          fmt::format("the strides of output {} put two elements at one address", told(program.stores[o])),
          "give each dimension a stride that steps over all of the narrower ones", place(program.stores[o])};
    for (std::size_t other = 0; other < o; ++other)
      if (outputs[other].view.data != nullptr && outputs[other].view.cols > 0 &&
          legality::may_touch(out, lattice(groups, outputs[other])))
        return Diagnostic{
            Code::outputs_overlap,
            fmt::format("outputs {} and {} overlap in memory", told(program.stores[other]), told(program.stores[o])),
            "give each output a buffer of its own", place(program.stores[o])};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].view.data == nullptr || inputs[i].view.cols == 0) continue;
      const legality::Lattice in = lattice(groups, inputs[i]);
      if (legality::may_touch(out, in) && !legality::same_lattice(out, in))
        return Diagnostic{
            Code::output_overlaps_input,
            fmt::format("output {} and input {} share memory, but not element for element", told(program.stores[o]),
                        told(program.inputs[i])),
            "give the output a buffer of its own, or exactly the input's address, strides and element size",
            place(program.stores[o])};
    }
  }
  return std::nullopt;
}

}  // namespace lanefold::api
