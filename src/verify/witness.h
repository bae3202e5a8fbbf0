// The search for an input that tells two kernels apart.
#pragma once

#include <optional>

#include "verify/prove.h"
#include "verify/symbol_run.h"

namespace lanefold::verify {

/// Runs both on the lane machine over contents of several patterns, part by part, until stored bytes differ.
std::optional<Witness> find_witness(const Instance& a, const Part& part_a, const Instance& b, const Part& part_b,
                                    const ProveOptions& options);

/// The same against the exact meaning of the row program in the instance's order.
std::optional<Witness> find_canonical_witness(const Instance& a, const Part& part, const ProveOptions& options);

}  // namespace lanefold::verify
