// Streams of a CUDA device, and events in them that tell the device's time.
#pragma once

#include "runtime/cuda/owned.h"

namespace lanefold::runtime {

/// A queue of work. It waits for the default stream and the default stream for it, so that a buffer's copies need no
/// further order.
class CudaStream {
 public:
  static Result<CudaStream> create(std::shared_ptr<const CudaContext> context);

  CUstream handle() const { return stream_.get(); }
  /// Waits until all work of the stream has ended, and gives its errors.
  Status synchronize() const;

 private:
  explicit CudaStream(CudaOwned<CUstream, &cuda_api::Functions::stream_destroy> stream) : stream_(std::move(stream)) {}
  CudaOwned<CUstream, &cuda_api::Functions::stream_destroy> stream_;
};

/// A moment in a stream.
class CudaEvent {
 public:
  static Result<CudaEvent> create(std::shared_ptr<const CudaContext> context);

  CUevent handle() const { return event_.get(); }
  /// The moment at which the work that is in the stream has ended.
  Status record(CUstream stream) const;
  /// Waits for the moment.
  Status synchronize() const;
  /// Lets a stream's later work wait for the moment.
  Status delay(CUstream stream) const;
  /// Microseconds of the device from `begin` to this moment; both have passed.
  Result<double> microseconds_since(const CudaEvent& begin) const;

 private:
  explicit CudaEvent(CudaOwned<CUevent, &cuda_api::Functions::event_destroy> event) : event_(std::move(event)) {}
  CudaOwned<CUevent, &cuda_api::Functions::event_destroy> event_;
};

}  // namespace lanefold::runtime
