// Something that the driver made and that must be given back to it, in the context in which it was made.
#pragma once

#include <memory>
#include <utility>

#include "runtime/cuda/capture.h"

namespace lanefold::runtime {

/// Owns one handle; empty after a move.
template <class Handle, cuda_api::Outcome (*cuda_api::Functions::*kDestroy)(Handle)>
class CudaOwned {
 public:
  CudaOwned() = default;
  CudaOwned(std::shared_ptr<const CudaContext> context, Handle handle)
      : context_(std::move(context)), handle_(handle) {}
  CudaOwned(CudaOwned&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, Handle{})) {}
  CudaOwned& operator=(CudaOwned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaOwned() {
    if (handle_ == Handle{}) return;
    // What fails here has failed before: a context that is lost, or a driver that has ended with the process.
    const ContextScope scope(*context_);
    const RelaxedCapture relaxed(*context_);
    (context_->driver().functions().*kDestroy)(handle_);
  }

  Handle get() const { return handle_; }
  const std::shared_ptr<const CudaContext>& context() const { return context_; }

 private:
  std::shared_ptr<const CudaContext> context_;
  Handle handle_{};
};

}  // namespace lanefold::runtime
