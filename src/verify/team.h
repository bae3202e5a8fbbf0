// Devices that share threads.
#pragma once

#include <memory>

#include "verify/device.h"

namespace lanefold::runtime {
class Executor;
}

namespace lanefold::verify {

/// Threads for several devices, in number `threads` with the calling one (0: one per processor); null in a build without the
/// JIT, where nothing has threads.
std::shared_ptr<runtime::Executor> shared_team(unsigned threads);

/// As open(program, options), but a device that has threads uses those of the team, if there is one, instead of its own.
Result<std::unique_ptr<Device>> open(ir::Program program, const DeviceOptions& options,
                                     std::shared_ptr<runtime::Executor> team);

}  // namespace lanefold::verify
