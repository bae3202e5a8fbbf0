#include "runtime/cpu/executor.h"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

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

/// oneTBB has no more workers than processors, and says so on standard error when asked for more; parts beyond them wait their turn.
int arena_size(unsigned threads) {
  return static_cast<int>(std::min(threads, std::max(2u, std::thread::hardware_concurrency())));
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
  explicit Team(unsigned threads) : threads_(threads), arena_(arena_size(threads)), shares_(threads), seats_(threads) {}
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
    done_ = 0;
    ++round_;
    for (Share& share : shares_) share.ticket.store(round_ << 32, std::memory_order_release);
    for (unsigned awake = awake_; awake + 1 < threads_; ++awake) {
      ++awake_;
      arena_.enqueue([this] { work(); });
    }
    while (take_part(0)) {
    }
    while (done_.load(std::memory_order_acquire) < threads_ * kPartsPerThread) relax();
    return true;
  }

 private:
  /// A run of consecutive parts that one thread takes first, so that the same rows stay in the same core's cache from
  /// launch to launch. The ticket has the round in its high half and the next part in its low half.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> ticket{static_cast<std::uint64_t>(kPartsPerThread)};
  };

  /// Takes one part of the launch, of one's own share if there is one left, and runs it. The launch changes only when all parts are done, so
  /// whoever holds a part may read it.
  bool take_part(unsigned seat) {
    for (unsigned i = 0; i < threads_; ++i) {
      const unsigned owner = (seat + i) % threads_;
      std::atomic<std::uint64_t>& ticket = shares_[owner].ticket;
      std::uint64_t now = ticket.load(std::memory_order_acquire);
      while ((now & 0xffffffffu) < static_cast<std::uint64_t>(kPartsPerThread)) {
        if (!ticket.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) continue;
        const std::int64_t parts = threads_ * kPartsPerThread;
        const std::int64_t part = owner * kPartsPerThread + static_cast<std::int64_t>(now & 0xffffffffu);
        const std::int64_t begin = launch_.threadgroups * part / parts, end = launch_.threadgroups * (part + 1) / parts;
        if (begin < end) run_range(launch_, begin, end);
        done_.fetch_add(1, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  void work() {
    unsigned seat = 1;
    while (seat < threads_ && seats_[seat].exchange(true)) ++seat;
    auto until = std::chrono::steady_clock::now() + kLinger;
    while (seat < threads_ && !stop_) {
      if (take_part(seat)) {
        until = std::chrono::steady_clock::now() + kLinger;
        continue;
      }
      for (int i = 0; i < 64; ++i) relax();
      if (std::chrono::steady_clock::now() > until) break;
    }
    if (seat < threads_) seats_[seat] = false;
    --awake_;
  }

  unsigned threads_;
  oneapi::tbb::task_arena arena_;
  std::mutex busy_;
  Launch launch_;
  std::uint64_t round_ = 0;
  std::vector<Share> shares_;
  std::vector<std::atomic<bool>> seats_;  ///< taken by an awake thread; seat 0 is the caller's
  std::atomic<std::int64_t> done_{0};
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
