#include "bench/arms/copy_arm.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "verify/device.h"
#if LANEFOLD_JIT
#include "runtime/cpu/copy.h"
#endif

namespace lanefold::bench {

#if LANEFOLD_JIT
namespace {

using Clock = std::chrono::steady_clock;
struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

constexpr std::int64_t kLine = 64;

std::unique_ptr<std::byte, Free> touched(std::int64_t bytes) {
  std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(kLine), static_cast<std::size_t>(bytes))));
  if (!memory) throw std::bad_alloc();
  std::memset(memory.get(), 1, static_cast<std::size_t>(bytes));
  return memory;
}

}  // namespace

struct CopyArm::State {
  State(std::int64_t half_bytes, unsigned threads)
      : half(half_bytes), source(touched(half)), target(touched(half)), executor(threads) {}

  double copy_ns(std::uint64_t calls) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) runtime::copy(target.get(), source.get(), half, stores, executor);
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  }

  std::int64_t half;
  std::unique_ptr<std::byte, Free> source, target;
  runtime::Executor executor;
  std::uint64_t copies = 1;
  runtime::CopyStores stores = runtime::CopyStores::cached;
};

Result<std::unique_ptr<CopyArm>> CopyArm::make(std::int64_t bytes, unsigned threads, std::int64_t copies) {
  const std::int64_t half = std::max(kLine, (bytes / 2 + kLine - 1) / kLine * kLine);
  auto state = std::make_unique<State>(half, threads);
  constexpr std::int64_t kTried = 64 * 1024 * 1024;
  const auto calls = static_cast<std::uint64_t>(std::clamp<std::int64_t>(kTried / half, 1, 10000));
  constexpr runtime::CopyStores kWays[] = {runtime::CopyStores::cached, runtime::CopyStores::streaming};
  double best[2] = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  for (int round = 0; round < 3; ++round)
    for (int way = 0; way < 2; ++way) {
      state->stores = kWays[way];
      best[way] = std::min(best[way], state->copy_ns(calls));
    }
  state->stores = kWays[best[1] < best[0]];
  state->copies = static_cast<std::uint64_t>(copies);
  return std::unique_ptr<CopyArm>(new CopyArm(std::move(state)));
}

Result<Timing> CopyArm::run(std::uint64_t calls) {
  Timing timing;
  timing.wall_ns = state_->copy_ns(calls * state_->copies);
  return timing;
}

std::int64_t CopyArm::bytes() const { return 2 * state_->half * static_cast<std::int64_t>(state_->copies); }
bool CopyArm::streaming() const { return state_->stores == runtime::CopyStores::streaming; }
#else
struct CopyArm::State {};

Result<std::unique_ptr<CopyArm>> CopyArm::make(std::int64_t, unsigned, std::int64_t) {
  if (Status status = verify::check_device("cpu"); !status) return status.error();
  internal_error("bench: the device cpu is there and nothing runs on it");
}
Result<Timing> CopyArm::run(std::uint64_t) { return Timing{}; }
std::int64_t CopyArm::bytes() const { return 0; }
bool CopyArm::streaming() const { return false; }
#endif

CopyArm::CopyArm(std::unique_ptr<State> state) : state_(std::move(state)) {}
CopyArm::~CopyArm() = default;

}  // namespace lanefold::bench
