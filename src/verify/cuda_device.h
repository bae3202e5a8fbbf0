// A program on a CUDA device, over buffers in the host's memory: for checks, which look at every byte.
#pragma once

#include <memory>

#include "verify/device.h"

namespace lanefold::verify {

/// Whether CUDA device 0 can be opened, and why not.
Status cuda_available();
/// The facts of CUDA device 0.
Result<target::Target> cuda_target();
/// Refuses a target that the device is not (target_not_here); the host's passes, for it stands where none was named.
Status check_cuda_target(const target::Target& target);

/// Runs each call on CUDA device 0: everything that its views reach is copied there and back, gaps too, with the same alignment
/// and the same overlaps. Refuses what check_cuda_target does.
Result<std::unique_ptr<Device>> open_cuda(ir::Program program, const DeviceOptions& options);

}  // namespace lanefold::verify
