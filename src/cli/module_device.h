// On which device a lane module runs.
#pragma once

#include "base/result.h"
#include "cli/device_options.h"
#include "driver/kernel_name.h"
#include "verify/device.h"

namespace lanefold::cli {

/// Where a lane module runs: on the cpu where this build has it, a FILE.lane on the lane machine, unless --device says
/// otherwise. --order is no matter of a device here.
Result<verify::DeviceOptions> module_device(const driver::KernelName& name, const DeviceFlags& flags);

}  // namespace lanefold::cli
