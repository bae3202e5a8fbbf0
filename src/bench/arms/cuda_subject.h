// A kernel made ready on a CUDA device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/arms/cuda_timer.h"
#include "bench/arms/subject_memory.h"
#include "bench/results/results.h"
#include "driver/cuda/row_kernel.h"
#include "verify/instance.h"

namespace lanefold::bench {

struct SubjectRequest;

/// Compiled without the user's disk cache, its arguments bound to every set of the memory.
struct CudaSubject {
  std::optional<plan::Plan> plan;
  std::vector<PhaseRecord> phases;
  std::string source;  ///< the CUDA text
  std::vector<ResourceRecord> resources;
  std::shared_ptr<const driver::CudaClassKernel> row_kernel;  ///< of a row program; its module is what ran
  std::unique_ptr<CudaTimer> timer;

  /// Makes the memory's sets where it has none yet, and fills them. `through_row_kernel`: as users run row programs; otherwise the instance's
  /// lane module is launched. target_not_here for another target than the device, device_not_timed for programs that run in stages.
  static Result<std::unique_ptr<CudaSubject>> open(const SubjectRequest& request, const verify::Instance& instance,
                                                   SubjectMemory& memory, bool through_row_kernel);
};

}  // namespace lanefold::bench
