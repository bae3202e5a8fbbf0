#include "runtime/cpu/executor.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/float_environment.h"

namespace lanefold::runtime {
namespace {

// Below this much traffic a second thread wakes up later than the first one is done.
constexpr std::int64_t kParallelBytes = 128 * 1024;

/// Threadgroup memory of one thread; it grows and is never shared.
class Scratch {
 public:
  ~Scratch() { std::free(memory_); }
  std::byte* reserve(std::size_t bytes) {
    if (bytes > size_) {
      std::free(memory_);
      size_ = (bytes + 4095) / 4096 * 4096;
      memory_ = static_cast<std::byte*>(std::aligned_alloc(64, size_));
      if (!memory_) {
        size_ = 0;
        throw std::bad_alloc();
      }
    }
    return memory_;
  }

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

void run_range(const Launch& launch, std::int64_t begin, std::int64_t end) {
  thread_local Scratch scratch;
  std::byte* shared = scratch.reserve(launch.shared_bytes);
  const FloatEnvironment environment;
  launch.entry(launch.arguments, begin, end, shared);
#if defined(__SSE2__)
  if (launch.streaming) _mm_sfence();
#endif
}

}  // namespace

struct Executor::Arena {
  explicit Arena(int threads) : arena(threads) {}
  oneapi::tbb::task_arena arena;
};

Executor::Executor(unsigned threads) : threads_(threads ? threads : std::max(1u, std::thread::hardware_concurrency())) {
  if (threads_ > 1) arena_ = std::make_unique<Arena>(static_cast<int>(threads_));
}

Executor::~Executor() = default;

void Executor::run(const Launch& launch) {
  if (launch.threadgroups <= 0) return;
  const std::int64_t parts = std::min<std::int64_t>(threads_, launch.threadgroups);
  if (parts < 2 || launch.bytes < kParallelBytes) return run_range(launch, 0, launch.threadgroups);
  arena_->arena.execute([&] {
    oneapi::tbb::parallel_for(
        std::int64_t{0}, parts,
        [&](std::int64_t part) {
          run_range(launch, launch.threadgroups * part / parts, launch.threadgroups * (part + 1) / parts);
        },
        oneapi::tbb::static_partitioner());
  });
}

}  // namespace lanefold::runtime
