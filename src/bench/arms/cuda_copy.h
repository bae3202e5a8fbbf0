// The ceiling on a CUDA device: a kernel that copies.
#pragma once

#include <memory>
#include <vector>

#include "bench/arms/cuda_timer.h"

namespace lanefold::bench {

/// Reads half of the bytes and writes as many, over sets of buffers that together exceed the cache, as a subject's do. Large copies store past the
/// cache. Like planned kernels, it begins before the launch ahead of it has ended where the device can.
class CudaCopyArm final : public Arm {
 public:
  /// One call makes `copies` copies.
  static Result<std::unique_ptr<CudaCopyArm>> make(std::int64_t bytes, std::int64_t copies = 1);
  Result<Timing> run(std::uint64_t calls) override { return timer_->run(calls * copies_); }
  /// What it really moves: `bytes` rounded up to whole vectors of both buffers.
  std::int64_t bytes() const { return bytes_ * static_cast<std::int64_t>(copies_); }
  bool streaming() const { return streaming_; }

 private:
  CudaCopyArm() = default;
  std::vector<runtime::CudaBuffer> memory_;
  std::unique_ptr<CudaTimer> timer_;
  std::int64_t bytes_ = 0;
  std::uint64_t copies_ = 1;
  bool streaming_ = false;
};

}  // namespace lanefold::bench
