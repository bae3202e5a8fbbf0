// An instance of any kind of kernel on a CUDA device, over buffers in the host's memory.
#pragma once

#include <memory>

#include "base/result.h"
#include "verify/instance.h"

namespace lanefold::verify {

/// An instance compiled for CUDA device 0, to be run many times.
class CudaModule {
 public:
  /// device_missing where there is no device; target_not_here where the options name another target; not_for_cuda for modules
  /// that CUDA cannot run. The instance must outlive the result.
  static Result<CudaModule> compile(const Instance& instance, const DeviceOptions& options);
  /// Launches all kernels in order over a copy of the memory, and copies back what they stored. Memory that is changed beside a
  /// buffer is machine_out_of_bounds.
  Status run(const ModuleMemory& memory) const;

  CudaModule(CudaModule&&) noexcept;
  CudaModule& operator=(CudaModule&&) noexcept;
  ~CudaModule();

 private:
  struct Code;
  CudaModule(const Instance& instance, std::unique_ptr<Code> code);
  const Instance* instance_;
  std::unique_ptr<Code> code_;
};

}  // namespace lanefold::verify
