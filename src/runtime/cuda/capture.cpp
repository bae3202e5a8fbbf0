#include "runtime/cuda/capture.h"

namespace lanefold::runtime {

Result<bool> is_captured(const CudaContext& context, CUstream stream) {
  if (stream == nullptr) return false;
  int status = cuda_api::kNotCapturing;
  LANEFOLD_CHECK(in_context(context, "cuStreamIsCapturing",
                            [&](const cuda_api::Functions& f) { return f.stream_is_capturing(stream, &status); }));
  return status != cuda_api::kNotCapturing;
}

}  // namespace lanefold::runtime
