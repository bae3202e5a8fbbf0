// Whether the launches of one call would touch each other's elements.
#pragma once

#include <optional>
#include <span>

#include "api/launches.h"
#include "base/diagnostic.h"
#include "ir/program.h"

namespace lanefold::api {

/// Refuses tensors where one launch of a call writes what another one reads or writes. An output may be an input, element
/// for element. What overlaps within a launch is for driver::check_call, which sees each one alone; this finds at least what
/// it would find in a later launch and not in the first. legality/lattice.h says how exactly strides that
/// interleave without touching are told apart.
std::optional<Diagnostic> launch_overlap(const ir::Program& program, std::span<const Group> groups,
                                         std::span<const Placed> inputs, std::span<const Placed> outputs);

}  // namespace lanefold::api
