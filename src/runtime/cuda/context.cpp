#include "runtime/cuda/context.h"

namespace lanefold::runtime {

Result<std::shared_ptr<const CudaContext>> CudaContext::primary(const CudaDriver& driver, int ordinal) {
  LANEFOLD_CHECK(driver.check_ordinal(ordinal));
  int device = 0;
  CUcontext handle = nullptr;
  LANEFOLD_CHECK(driver.check(driver.functions().device_get(&device, ordinal), "cuDeviceGet"));
  LANEFOLD_CHECK(driver.check(driver.functions().primary_retain(&handle, device), "cuDevicePrimaryCtxRetain"));
  return std::shared_ptr<const CudaContext>(new CudaContext(driver, handle, device, ordinal, true));
}

Result<std::shared_ptr<const CudaContext>> CudaContext::current(const CudaDriver& driver) {
  CUcontext handle = nullptr;
  LANEFOLD_CHECK(driver.check(driver.functions().context_current(&handle), "cuCtxGetCurrent"));
  if (handle == nullptr) {
    return Diagnostic{Code::device_failed, "no CUDA context is current in this thread",
                      "open a device by its number, or call this where CUDA has been used before", ""};
  }
  int device = 0;
  LANEFOLD_CHECK(driver.check(driver.functions().context_device(&device), "cuCtxGetDevice"));
  int ordinal = 0;
  for (int other = -1; ordinal < driver.device_count(); ++ordinal) {
    LANEFOLD_CHECK(driver.check(driver.functions().device_get(&other, ordinal), "cuDeviceGet"));
    if (other == device) break;
  }
  // Only one that is active is asked for: retaining makes one where there is none.
  unsigned flags = 0;
  int active = 0;
  LANEFOLD_CHECK(driver.check(driver.functions().primary_state(device, &flags, &active), "cuDevicePrimaryCtxGetState"));
  if (active != 0) {
    LANEFOLD_TRY(std::shared_ptr<const CudaContext> retained, primary(driver, ordinal));
    if (retained->handle() == handle) return retained;
  }
  return std::shared_ptr<const CudaContext>(new CudaContext(driver, handle, device, ordinal, false));
}

bool CudaContext::is_any_current(const CudaDriver& driver) {
  CUcontext handle = nullptr;
  return driver.functions().context_current(&handle) == cuda_api::kSuccess && handle != nullptr;
}

CudaContext::~CudaContext() {
  if (retained_) driver_.functions().primary_release(device_);
}

}  // namespace lanefold::runtime
