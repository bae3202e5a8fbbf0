#include "runtime/cuda/stream_memory.h"

#include <fmt/format.h>

namespace lanefold::runtime {

using cuda_api::Functions;

Result<CudaStreamMemory> CudaStreamMemory::create(std::shared_ptr<const CudaContext> context, std::size_t bytes,
                                                  CUstream stream) {
  cuda_api::Address memory = 0;
  LANEFOLD_CHECK(in_context(*context, fmt::format("cuMemAllocAsync of {} bytes", bytes),
                            [&](const Functions& f) { return f.memory_allocate_async(&memory, bytes, stream); }));
  return CudaStreamMemory(std::move(context), memory, stream);
}

CudaStreamMemory::~CudaStreamMemory() {
  if (memory_ == 0) return;
  // What fails here has failed before: the context is lost.
  const ContextScope scope(*context_);
  context_->driver().functions().memory_free_async(memory_, stream_);
}

}  // namespace lanefold::runtime
