// What only the buffers of one call can show: outputs that overlap inputs, each other, or themselves.
#pragma once

#include <optional>
#include <span>

#include "base/diagnostic.h"
#include "base/view.h"
#include "ir/program.h"

namespace lanefold::legality {

/// Refuses buffers for which the order of loads and stores would show. One view per input and per output of the program; an
/// input without data (absent) takes no part. An output may equal an element input element for element (same address, strides
/// and element size), unless the program gathers from that input. This holds for kernels that write each element after
/// their last reading of it, that is, whose element stores stand in their last sweep (plan/analysis.h). legality/lattice.h says how
/// exactly views whose strides interleave without touching are told apart.
std::optional<Diagnostic> check_overlap(const ir::Program& program, std::span<const View> inputs,
                                        std::span<const View> outputs);

/// Whether some byte belongs to an element of both views; false is certain, and true but for very tangled strides.
bool may_overlap(const View& a, const View& b);

}  // namespace lanefold::legality
