#include "runtime/cpu/executor.h"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "base/float_environment.h"

namespace lanefold::runtime {
namespace {

// Below this much traffic handing over a part costs more than it saves.
constexpr std::int64_t kParallelBytes = 128 * 1024;
// How long a thread stays awake for the next launch.
constexpr std::chrono::microseconds kLinger{200};
// Parts per thread: enough that a thread which came late still finds work.
constexpr std::int64_t kPartsPerThread = 4;

void relax() {
#if defined(__SSE2__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

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

class Executor::Team {
 public:
  explicit Team(unsigned threads) : threads_(threads), arena_(static_cast<int>(threads)) {}
  ~Team() {
    stop_ = true;
    while (awake_ > 0) std::this_thread::yield();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// False where another launch has the team.
  bool run(const Launch& launch) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return false;
    launch_ = launch;
    parts_ = std::min<std::int64_t>(threads_ * kPartsPerThread, launch.threadgroups);
    done_ = 0;
    ++round_;
    ticket_.store(round_ << 32, std::memory_order_release);
    for (unsigned awake = awake_; awake + 1 < threads_; ++awake) {
      ++awake_;
      arena_.enqueue([this] { work(); });
    }
    while (take_part()) {
    }
    while (done_.load(std::memory_order_acquire) < parts_) relax();
    ticket_.store(round_ << 32 | kClosed, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::uint64_t kClosed = 0xffffffffu;

  /// Takes one part of the open launch and runs it. The launch changes only while the ticket is closed, and closes only when
  /// every part is done, so whoever holds a part may read it.
  bool take_part() {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    for (;;) {
      const auto part = static_cast<std::int64_t>(ticket & kClosed);
      if (part == static_cast<std::int64_t>(kClosed) || part >= parts_.load(std::memory_order_relaxed)) return false;
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
      const std::int64_t parts = parts_.load(std::memory_order_relaxed);
      run_range(launch_, launch_.threadgroups * part / parts, launch_.threadgroups * (part + 1) / parts);
      done_.fetch_add(1, std::memory_order_release);
      return true;
    }
  }

  void work() {
    auto until = std::chrono::steady_clock::now() + kLinger;
    while (!stop_) {
      if (take_part()) {
        until = std::chrono::steady_clock::now() + kLinger;
        continue;
      }
      for (int i = 0; i < 64; ++i) relax();
      if (std::chrono::steady_clock::now() > until) break;
    }
    --awake_;
  }

  unsigned threads_;
  oneapi::tbb::task_arena arena_;
  std::mutex busy_;
  Launch launch_;
  std::uint64_t round_ = 0;
  std::atomic<std::int64_t> parts_{0}, done_{0};
  std::atomic<std::uint64_t> ticket_{kClosed};  ///< round in the high half, next part in the low half
  std::atomic<unsigned> awake_{0};
  std::atomic<bool> stop_{false};
};

Executor::Executor(unsigned threads) : threads_(threads ? threads : std::max(1u, std::thread::hardware_concurrency())) {
  if (threads_ > 1) team_ = std::make_unique<Team>(threads_);
}

Executor::~Executor() = default;

void Executor::run(const Launch& launch) {
  if (launch.threadgroups <= 0) return;
  const bool alone = !team_ || launch.threadgroups < 2 || launch.bytes < kParallelBytes;
  if (alone || !team_->run(launch)) run_range(launch, 0, launch.threadgroups);
}

}  // namespace lanefold::runtime
