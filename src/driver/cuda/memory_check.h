// Whether the kernels of a device reach the memory of a call: what they do not reach ends the whole CUDA context.
#pragma once

#include "base/result.h"
#include "ir/program.h"
#include "runtime/common/launch.h"
#include "runtime/cuda/device.h"

namespace lanefold::driver {

/// Asks the driver about the first element of every view; names the input or output at fault (call_not_on_device). The counts are
/// those of the program.
Status check_memory(const runtime::CudaDevice& device, const ir::Program& program, const runtime::Call& call);

}  // namespace lanefold::driver
