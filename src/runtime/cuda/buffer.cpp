#include "runtime/cuda/buffer.h"

#include <fmt/format.h>

namespace lanefold::runtime {

using cuda_api::Functions;

Result<CudaBuffer> CudaBuffer::create(std::shared_ptr<const CudaContext> context, std::size_t bytes) {
  cuda_api::Address address = 0;
  if (bytes > 0) {
    LANEFOLD_CHECK(in_context(*context, fmt::format("cuMemAlloc of {} bytes", bytes),
                              [&](const Functions& f) { return f.memory_allocate(&address, bytes); }));
  }
  return CudaBuffer({std::move(context), address}, bytes);
}

void CudaBuffer::check_range(std::size_t bytes, std::size_t offset) const {
  if (offset > size_ || bytes > size_ - offset)
    internal_error(fmt::format("{} bytes at {} of a device buffer of {} bytes", bytes, offset, size_));
}

Status CudaBuffer::write(std::span<const std::byte> bytes, std::size_t offset) const {
  check_range(bytes.size(), offset);
  if (bytes.empty()) return success();
  return in_context(*memory_.context(), fmt::format("cuMemcpyHtoD of {} bytes", bytes.size()), [&](const Functions& f) {
    return f.copy_to_device(memory_.get() + offset, bytes.data(), bytes.size());
  });
}

Status CudaBuffer::read(std::span<std::byte> bytes, std::size_t offset) const {
  check_range(bytes.size(), offset);
  if (bytes.empty()) return success();
  return in_context(*memory_.context(), fmt::format("cuMemcpyDtoH of {} bytes", bytes.size()), [&](const Functions& f) {
    return f.copy_from_device(bytes.data(), memory_.get() + offset, bytes.size());
  });
}

Status CudaBuffer::fill(std::byte value, CUstream stream) const {
  if (size_ == 0) return success();
  return in_context(*memory_.context(), fmt::format("cuMemsetD8Async of {} bytes", size_), [&](const Functions& f) {
    return f.fill_async(memory_.get(), static_cast<unsigned char>(value), size_, stream);
  });
}

}  // namespace lanefold::runtime
