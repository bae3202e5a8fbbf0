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
/// their last reading of it, that is, whose element stores stand in their last sweep (plan/analysis.h). Views whose strides
/// interleave without touching are told apart where a common divisor of the strides shows it; what remains is refused.
std::optional<Diagnostic> check_overlap(const ir::Program& program, std::span<const View> inputs,
                                        std::span<const View> outputs);

/// Whether some byte may belong to an element of both views; false is certain.
bool may_overlap(const View& a, const View& b);

}  // namespace lanefold::legality
