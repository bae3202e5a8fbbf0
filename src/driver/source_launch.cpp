#include "driver/source_launch.h"

#include "emit/cuda/cuda_source.h"

namespace lanefold::driver {

std::vector<SourceLaunch> source_launches(const lane::Module& module, std::int64_t rows, std::int64_t cols) {
  std::vector<SourceLaunch> launches;
  for (const lane::Kernel& kernel : module.kernels)
    launches.push_back({.kernel = emit::cuda_kernel_name(kernel),
                        .threads = kernel.simd_width * kernel.simd_groups,
                        .threadgroups = lane::launch_threadgroups(kernel, rows, cols),
                        .cluster = kernel.cluster,
                        .shared_bytes = emit::cuda_dynamic_shared_bytes(kernel),
                        .programmatic = kernel.programmatic_launch});
  return launches;
}

}  // namespace lanefold::driver
