// What a subject computes on: memory of the host, and its copies on a device that has memory of its own.
#pragma once

#include <memory>

#include "verify/module_memory.h"

namespace lanefold::bench {

class CudaSets;

/// Subjects that are compared share one.
struct SubjectMemory final : verify::ModuleMemory {
  using verify::ModuleMemory::ModuleMemory;
  std::shared_ptr<CudaSets> cuda;  ///< null: no subject has been on a CUDA device yet
};

}  // namespace lanefold::bench
