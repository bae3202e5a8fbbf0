// Memory of a CUDA device.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/cuda/owned.h"

namespace lanefold::runtime {

/// Bytes on the device, aligned to 256. Copies wait for the work of the default stream and of CudaStreams before them.
class CudaBuffer {
 public:
  /// out_of_memory where the device has no room. A buffer of no bytes has the address null.
  static Result<CudaBuffer> create(std::shared_ptr<const CudaContext> context, std::size_t bytes);

  /// The device's address, for kernels.
  void* data() const { return reinterpret_cast<void*>(memory_.get()); }
  std::size_t size() const { return size_; }
  /// Copies to the device; bytes beyond the buffer are an internal error.
  Status write(std::span<const std::byte> bytes, std::size_t offset = 0) const;
  /// Copies from the device.
  Status read(std::span<std::byte> bytes, std::size_t offset = 0) const;
  /// Sets every byte, as work of the stream.
  Status fill(std::byte value, CUstream stream = nullptr) const;

 private:
  CudaBuffer(CudaOwned<cuda_api::Address, &cuda_api::Functions::memory_free> memory, std::size_t size)
      : memory_(std::move(memory)), size_(size) {}
  void check_range(std::size_t bytes, std::size_t offset) const;

  CudaOwned<cuda_api::Address, &cuda_api::Functions::memory_free> memory_;
  std::size_t size_;
};

}  // namespace lanefold::runtime
