// The CUDA driver of this machine, loaded at run time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/cuda/driver_api.h"
#include "target/target.h"

namespace lanefold::runtime {

/// A loaded and initialised driver. It stays loaded until the process ends.
class CudaDriver {
 public:
  /// The driver of this process, loaded at the first call: libcuda.so.1, or the library that LANEFOLD_CUDA_DRIVER names.
  /// device_missing says whether the library, a function of it or a device is missing; every later call says the same.
  static Result<const CudaDriver*> get();
  /// Loads and initialises the driver in that library.
  static Result<std::unique_ptr<CudaDriver>> load(const std::string& library);

  /// The driver's functions.
  const cuda_api::Functions& functions() const { return functions_; }
  /// The newest CUDA version that the driver serves: 12040 is 12.4.
  int version() const { return version_; }
  /// At least 1.
  int device_count() const { return device_count_; }
  /// device_missing where there is no device of that number.
  Status check_ordinal(int ordinal) const;
  /// The name that the device gives itself.
  Result<std::string> device_name(int ordinal) const;
  /// Bytes of the device's memory.
  Result<std::size_t> device_memory(int ordinal) const;
  /// Whether the device's kernels reach all of the host's memory, not only what CUDA has been told of.
  bool reaches_host_memory(int ordinal) const;
  /// The device as a target: the known target of its compute capability, with what the driver says about limits and sizes.
  Result<target::Target> target(int ordinal) const;

  /// Success, or a diagnostic with the error's name and text; `action` says what failed, as "cuMemAlloc of 4 bytes".
  Status check(cuda_api::Outcome outcome, std::string_view action) const {
    if (outcome == cuda_api::kSuccess) return success();
    return failure(outcome, action);
  }
  /// The diagnostic of a failed call.
  Diagnostic failure(cuda_api::Outcome outcome, std::string_view action) const;
  /// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
  std::string error_text(cuda_api::Outcome outcome) const;

 private:
  CudaDriver() = default;
  Result<int> attribute(int device, cuda_api::DeviceAttribute attribute) const;

  cuda_api::Functions functions_;
  int version_ = 0;
  int device_count_ = 0;
};

/// NVRTC's name of the machine code that a CUDA target runs: "sm_90" for "cuda-sm90".
Result<std::string> cuda_architecture(const target::Target& target);

}  // namespace lanefold::runtime
