// Runs compiled kernels on the CPU: rows in parallel, threadgroup memory per thread, the floating-point environment set.
#pragma once

#include <cstdint>
#include <memory>

#include "jit/jit.h"

namespace lanefold::runtime {

/// One launch of a compiled kernel.
struct Launch {
  jit::Entry entry = nullptr;
  const lane::ArgumentWord* arguments = nullptr;
  std::int64_t threadgroups = 0;
  std::uint32_t shared_bytes = 0;
  std::int64_t bytes = 0;      ///< read and written: whether waking a second thread pays
  bool streaming = false;      ///< the kernel has streaming stores, which must be fenced
};

/// A pool of threads. Calls may come from several threads at once.
class Executor {
 public:
  /// `threads` = 0: one per processor.
  explicit Executor(unsigned threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs the launch to its end. Small launches run on the calling thread. Allocates nothing once a thread has its threadgroup memory.
  void run(const Launch& launch);
  unsigned threads() const { return threads_; }

 private:
  struct Arena;
  unsigned threads_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace lanefold::runtime
