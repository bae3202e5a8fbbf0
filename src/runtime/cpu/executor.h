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
  std::int64_t bytes = 0;  ///< read and written: whether a second thread pays
  bool streaming = false;  ///< the kernel has streaming stores, which must be fenced
};

/// A few threads of oneTBB that take parts of a launch. They stay awake for a moment after each launch, since waking one takes longer
/// than most launches do. The calling thread takes parts too and waits only for parts that somebody has begun, so a busy
/// machine never makes a launch slower than one thread would.
class Executor {
 public:
  /// `threads` = 0: one per processor.
  explicit Executor(unsigned threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs the launch to its end. Small launches, and those that come while another one has the threads, run on the
  /// calling thread. May be called from several threads at once.
  void run(const Launch& launch);
  unsigned threads() const { return threads_; }

 private:
  class Team;
  unsigned threads_;
  std::unique_ptr<Team> team_;
};

}  // namespace lanefold::runtime
