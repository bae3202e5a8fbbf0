// What plans are measured on, for a device by its name.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "driver/tuned_plans.h"

namespace lanefold::verify {

/// The device and the compiler of its code: "cpu" or "cuda". Refuses what check_device refuses, a CUDA device without a compiler
/// (device_missing), and the lane machine, which compiles nothing (device_not_timed).
Result<driver::TunedOn> tuned_on(std::string_view device);

/// The alignment that kernels of the device plan for where rows lie one after another from an aligned address.
std::uint32_t planned_alignment(std::string_view device, std::int64_t cols);

}  // namespace lanefold::verify
