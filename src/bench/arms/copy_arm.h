// The ceiling: a plain copy that moves as many bytes as a case does.
#pragma once

#include <memory>

#include "bench/arms/arm.h"

namespace lanefold::bench {

/// Copies half of the bytes from one buffer to another, so that reading and writing move all of them, on as many threads as the case has. Of plain and
/// streaming stores it takes those that are faster at this size, measured when it is made. The buffers stay the same from call to call, as a kernel's do.
class CopyArm final : public Arm {
 public:
  /// One call makes `copies` copies. device_missing where this build has no JIT and so no threads.
  static Result<std::unique_ptr<CopyArm>> make(std::int64_t bytes, unsigned threads, std::int64_t copies = 1);
  ~CopyArm() override;
  Result<Timing> run(std::uint64_t calls) override;
  /// What it really moves: `bytes` rounded up to whole lines of both buffers.
  std::int64_t bytes() const;
  bool streaming() const;

 private:
  struct State;
  explicit CopyArm(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lanefold::bench
