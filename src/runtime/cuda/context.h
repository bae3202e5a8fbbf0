// A CUDA context that several objects share, and its stay as the thread's current one.
#pragma once

#include <memory>

#include "runtime/cuda/driver.h"

namespace lanefold::runtime {

/// A context of one device. Everything that was made in it holds it.
class CudaContext {
 public:
  /// The device's primary context, the one that CUDA's runtime (and so PyTorch) uses; retained while this object lives.
  static Result<std::shared_ptr<const CudaContext>> primary(const CudaDriver& driver, int ordinal);
  /// The context that is current in this thread. A primary one is retained; another one must outlive this object.
  static Result<std::shared_ptr<const CudaContext>> current(const CudaDriver& driver);
  /// Whether some context is current in this thread.
  static bool is_any_current(const CudaDriver& driver);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const CudaDriver& driver() const { return driver_; }
  CUcontext handle() const { return handle_; }
  int ordinal() const { return ordinal_; }

 private:
  CudaContext(const CudaDriver& driver, CUcontext handle, int device, int ordinal, bool retained)
      : driver_(driver), handle_(handle), device_(device), ordinal_(ordinal), retained_(retained) {}

  const CudaDriver& driver_;
  CUcontext handle_;
  int device_;  ///< a CUdevice
  int ordinal_;
  bool retained_;
};

/// Makes a context the thread's current one until the scope ends. Costs next to nothing where it is already.
class ContextScope {
 public:
  explicit ContextScope(const CudaContext& context) : functions_(context.driver().functions()) {
    CUcontext now = nullptr;
    outcome_ = functions_.context_current(&now);
    if (outcome_ == cuda_api::kSuccess && now != context.handle()) {
      outcome_ = functions_.context_push(context.handle());
      pushed_ = outcome_ == cuda_api::kSuccess;
    }
  }
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (pushed_) functions_.context_pop(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  /// Whether the context is current.
  cuda_api::Outcome outcome() const { return outcome_; }

 private:
  const cuda_api::Functions& functions_;
  cuda_api::Outcome outcome_ = cuda_api::kSuccess;
  bool pushed_ = false;
};

/// Calls a function of the driver in the context: in_context(context, "cuMemFree", [&](const auto& f) { return f.memory_free(a); }).
template <class Call>
Status in_context(const CudaContext& context, std::string_view action, Call&& call) {
  const ContextScope scope(context);
  if (scope.outcome() != cuda_api::kSuccess) return context.driver().failure(scope.outcome(), "cuCtxPushCurrent");
  return context.driver().check(call(context.driver().functions()), action);
}

}  // namespace lanefold::runtime
