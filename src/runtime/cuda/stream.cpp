#include "runtime/cuda/stream.h"

namespace lanefold::runtime {

using cuda_api::Functions;

Result<CudaStream> CudaStream::create(std::shared_ptr<const CudaContext> context) {
  CUstream stream = nullptr;
  LANEFOLD_CHECK(
      in_context(*context, "cuStreamCreate", [&](const Functions& f) { return f.stream_create(&stream, 0); }));
  return CudaStream({std::move(context), stream});
}

Status CudaStream::synchronize() const {
  return in_context(*stream_.context(), "cuStreamSynchronize",
                    [&](const Functions& f) { return f.stream_synchronize(handle()); });
}

Result<CudaEvent> CudaEvent::create(std::shared_ptr<const CudaContext> context) {
  CUevent event = nullptr;
  LANEFOLD_CHECK(in_context(*context, "cuEventCreate", [&](const Functions& f) { return f.event_create(&event, 0); }));
  return CudaEvent({std::move(context), event});
}

Status CudaEvent::record(CUstream stream) const {
  return in_context(*event_.context(), "cuEventRecord",
                    [&](const Functions& f) { return f.event_record(handle(), stream); });
}

Status CudaEvent::synchronize() const {
  return in_context(*event_.context(), "cuEventSynchronize",
                    [&](const Functions& f) { return f.event_synchronize(handle()); });
}

Status CudaEvent::delay(CUstream stream) const {
  return in_context(*event_.context(), "cuStreamWaitEvent",
                    [&](const Functions& f) { return f.stream_wait(stream, handle(), 0); });
}

Result<double> CudaEvent::microseconds_since(const CudaEvent& begin) const {
  float milliseconds = 0;
  LANEFOLD_CHECK(in_context(*event_.context(), "cuEventElapsedTime", [&](const Functions& f) {
    return f.event_elapsed(&milliseconds, begin.handle(), handle());
  }));
  return 1e3 * static_cast<double>(milliseconds);
}

}  // namespace lanefold::runtime
