// A program that folds along rows, on a device that folds along columns.
#pragma once

#include <memory>

#include "verify/device.h"

namespace lanefold::verify {

/// Runs the stages of the program (ir::split_stages) one after the other. What they hand on lies in memory of each call.
/// The plan that it tells is that of the stage that folds along rows.
Result<std::unique_ptr<Device>> open_staged(ir::Program program, const DeviceOptions& options);

}  // namespace lanefold::verify
