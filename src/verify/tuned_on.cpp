#include "verify/tuned_on.h"

#include <string>

#include "plan/layout.h"
#include "verify/device.h"
#if LANEFOLD_JIT
#include "driver/cpu/row_kernel.h"
#endif
#if LANEFOLD_CUDA
#include "driver/cuda/row_kernel.h"
#include "verify/cuda_copies.h"
#endif

namespace lanefold::verify {

Result<driver::TunedOn> tuned_on(std::string_view device) {
  LANEFOLD_CHECK(check_device(device));
#if LANEFOLD_JIT
  if (device == "cpu") return driver::tuned_on_cpu();
#endif
#if LANEFOLD_CUDA
  if (device == "cuda") {
    LANEFOLD_TRY(const runtime::CudaDevice opened, shared_cuda_device());
    return driver::tuned_on_cuda(opened);
  }
#endif
  return Diagnostic{Code::device_not_timed, "plans for the device " + std::string(device) + " are not measured",
                    "use --device cpu or --device cuda", "--device"};
}

std::uint32_t planned_alignment(std::string_view device, std::int64_t cols) {
  // Kernels of the CPU ask for no alignment.
  return device == "cuda" ? plan::dense_alignment(cols) : 1;
}

}  // namespace lanefold::verify
