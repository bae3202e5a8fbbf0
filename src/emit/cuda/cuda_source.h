// Lane modules as CUDA C++: text without includes, for NVRTC or nvcc.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "lane/module.h"

namespace lanefold::emit {

struct CudaOptions {
  /// The order is free: contraction and the device's fast functions may be used.
  bool fast = false;
};

struct CudaSource {
  std::string text;  ///< helpers, then every kernel of the module, with C linkage (cuda_kernel_name)
};

/// The kernel's name in the text: its own, or with _kernel behind it where CUDA has a function or word of that name (max, exp).
std::string cuda_kernel_name(const lane::Kernel& kernel);

/// Bytes of dynamic shared memory that a launch of the kernel has to give; 0 where its arrays are static.
std::uint32_t cuda_dynamic_shared_bytes(const lane::Kernel& kernel);

/// The module's text for sm_80 and later (sm_90 where a kernel has a cluster or a programmatic launch). Unless `fast`, its results do not depend on how it is compiled: neither contraction
/// nor -use_fast_math change them. A module that CUDA cannot run is refused: not_for_cuda.
Result<CudaSource> cuda_source(const lane::Module& module, const CudaOptions& options);

}  // namespace lanefold::emit
