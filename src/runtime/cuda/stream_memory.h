// Memory of a CUDA device for the work of one stream.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/cuda/context.h"

namespace lanefold::runtime {

/// Bytes from the device's memory pool, aligned to 256, taken and given back in the order of a stream's work: nothing waits,
/// and a stream that is captured has both in its graph.
class CudaStreamMemory {
 public:
  /// out_of_memory where the device has no room; `bytes` is at least 1.
  static Result<CudaStreamMemory> create(std::shared_ptr<const CudaContext> context, std::size_t bytes,
                                         CUstream stream);
  CudaStreamMemory(CudaStreamMemory&& other) noexcept
      : context_(std::move(other.context_)), memory_(std::exchange(other.memory_, 0)), stream_(other.stream_) {}
  CudaStreamMemory& operator=(CudaStreamMemory&&) = delete;
  /// Gives it back, after all work that is in the stream by now.
  ~CudaStreamMemory();

  /// The device's address, for work that is put into the stream while this lives.
  std::byte* data() const { return reinterpret_cast<std::byte*>(memory_); }

 private:
  CudaStreamMemory(std::shared_ptr<const CudaContext> context, cuda_api::Address memory, CUstream stream)
      : context_(std::move(context)), memory_(memory), stream_(stream) {}

  std::shared_ptr<const CudaContext> context_;
  cuda_api::Address memory_ = 0;
  CUstream stream_ = nullptr;
};

}  // namespace lanefold::runtime
