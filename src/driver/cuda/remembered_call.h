// A checked call on a CUDA device, and the last one that a kernel remembers: small kernels take less time than the checks.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/view.h"
#include "runtime/common/launch.h"
#include "runtime/cuda/device.h"

namespace lanefold::driver {

struct CudaClassKernel;

/// A call that has been checked, ready to be launched again and again.
struct CudaLaunch {
  std::shared_ptr<const CudaClassKernel> kernel;  ///< null: no rows, nothing to do
  runtime::LaunchShape shape;
  std::vector<lane::ArgumentWord> words;
};

/// The last call that was found good. One thread at a time holds it; the others do without.
class RememberedCall {
 public:
  /// Whether the call has the same views and sizes; the values of its parameters may differ.
  bool fits(const runtime::Call& call) const;
  /// The launch of a call that fits.
  const CudaLaunch& with(std::span<const float> parameters);
  /// Remembers a call and its launch. Allocates nothing where no call before had fewer views or words.
  void keep(const runtime::Call& call, std::shared_ptr<const CudaClassKernel> kernel, const runtime::LaunchShape& shape,
            std::span<const lane::ArgumentWord> words);

  /// A stay in which nobody else reads or changes what is remembered; false where somebody else has one now.
  class Hold {
   public:
    explicit Hold(RememberedCall& call)
        : flag_(call.in_use_.test_and_set(std::memory_order_acquire) ? nullptr : &call.in_use_) {}
    ~Hold() {
      if (flag_ != nullptr) flag_->clear(std::memory_order_release);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    explicit operator bool() const { return flag_ != nullptr; }

   private:
    std::atomic_flag* flag_;
  };

 private:
  std::atomic_flag in_use_;
  CudaLaunch launch_;
  std::vector<View> inputs_, outputs_;
  std::int64_t rows_ = 0, cols_ = 0;
};

}  // namespace lanefold::driver
