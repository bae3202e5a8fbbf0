// Streams that are being captured into a graph, by whoever does it.
#pragma once

#include "runtime/cuda/context.h"

namespace lanefold::runtime {

/// Whether what is put into the stream is recorded now instead of run. The default stream (null) never is.
Result<bool> is_captured(const CudaContext& context, CUstream stream);

/// While it lives, this thread may load and free although some thread captures, which else would end that capture. Drivers
/// before CUDA 12.3 may refuse all the same.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CudaContext& context) : functions_(context.driver().functions()) {
    exchanged_ = functions_.exchange_capture_mode(&mode_) == cuda_api::kSuccess;
  }
  ~RelaxedCapture() {
    if (exchanged_) functions_.exchange_capture_mode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const cuda_api::Functions& functions_;
  int mode_ = cuda_api::kCaptureRelaxed;
  bool exchanged_ = false;
};

}  // namespace lanefold::runtime
