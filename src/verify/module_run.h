// Running an instance: on the lane machine, or through the JIT.
#pragma once

#include "base/result.h"
#include "machine/machine.h"
#include "verify/instance.h"

namespace lanefold::verify {

/// Launches all kernels of the instance in order on the lane machine. The report has the findings of all launches, outputs that
/// are incomplete, and bytes changed outside of every buffer; counts are summed up. A scalar without a value is a
/// diagnostic. options.begin and end apply to the first kernel and only where it is the only one.
Result<machine::Report> run_on_machine(const Instance& instance, const ModuleMemory& memory,
                                       const machine::Options& options = {});

/// The same through the JIT, on `threads` threads (0: one per processor); device_missing in a build without one.
Status run_on_cpu(const Instance& instance, const ModuleMemory& memory, const target::Target& target, unsigned threads);

}  // namespace lanefold::verify
