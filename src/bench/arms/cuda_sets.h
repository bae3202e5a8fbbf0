// Copies of a module's buffers on a CUDA device.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/device.h"
#include "verify/module_memory.h"

namespace lanefold::bench {

/// How many sets of so many bytes exceed a device's cache together, so that no launch of those that take them in turn finds its own
/// there: 2 to 48.
std::size_t sets_beyond_cache(std::int64_t bytes);

/// Sets of all buffers, each with the same contents once uploaded.
class CudaSets {
 public:
  /// out_of_memory where the device has no room.
  static Result<std::shared_ptr<CudaSets>> create(const runtime::CudaDevice& device, const verify::ModuleMemory& memory,
                                                  std::size_t count);

  std::size_t count() const { return sets_.size(); }
  void* data(std::size_t set, std::size_t buffer) const { return sets_[set][buffer].data(); }
  /// Copies every buffer of the host to every set: poison of outputs too.
  Status upload(const verify::ModuleMemory& memory) const;
  /// The same to one set.
  Status upload(const verify::ModuleMemory& memory, std::size_t set) const;
  /// Copies what kernels may have written in the first set to the host.
  Status fetch(const verify::ModuleMemory& memory) const;

 private:
  std::vector<std::vector<runtime::CudaBuffer>> sets_;
};

}  // namespace lanefold::bench
