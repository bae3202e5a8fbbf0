// Whether the kernels of a device reach the memory of calls: what they do not reach ends the whole CUDA context.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/result.h"
#include "ir/program.h"
#include "runtime/common/launch.h"
#include "runtime/cuda/device.h"

namespace lanefold::driver {

/// Asks the driver about the first element of every view, but for addresses that it has found good lately. May be used from
/// several threads at once.
class MemoryCheck {
 public:
  explicit MemoryCheck(runtime::CudaDevice device) : device_(std::move(device)) {}

  /// Names the input or output at fault (call_not_on_device). The counts are those of the program.
  Status check(const ir::Program& program, const runtime::Call& call);

 private:
  template <class Port>
  Status check(const char* what, const Port& port, const View& view);
  std::atomic<const void*>& slot(const void* address) {
    // Allocations begin at multiples of 256 or more, and matrices within them anywhere.
    const auto bits = std::bit_cast<std::uintptr_t>(address);
    return reached_[(bits >> 8 ^ bits >> 16 ^ bits >> 3) % kSlots];
  }

  static constexpr std::size_t kSlots = 256;
  runtime::CudaDevice device_;
  std::array<std::atomic<const void*>, kSlots> reached_ = {};
};

}  // namespace lanefold::driver
