// The interpreter of lane modules: plain, slow, lane by lane.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "lane/module.h"

namespace lanefold::machine {

/// Runs threadgroups [begin, end) of one kernel. `arguments` has one word per kernel argument: a host pointer to element (0, 0) of a buffer, an i64, or an
/// f32. Threadgroup memory starts poisoned. Faults of the module (an address computed from poison, a barrier under divergence) are
/// diagnostics.
Status run(const lane::Module& module, const lane::Kernel& kernel, std::span<const lane::ArgumentWord> arguments,
           std::int64_t begin, std::int64_t end);

}  // namespace lanefold::machine
