#if LANEFOLD_CUDA
#include "bench/arms/cuda_timer.h"

#include <algorithm>
#include <chrono>

namespace lanefold::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGraphUs = 1000;   // a replay lasts about so long, so that the gap before it is no part of the time
constexpr double kMostCalls = 400;  // in a graph
constexpr int kEnqueued = 16;       // calls of a sample: fewer than a stream's queue holds

}  // namespace

Result<std::unique_ptr<CudaTimer>> CudaTimer::create(runtime::CudaDevice device, std::vector<CudaStep> steps,
                                                     std::size_t sets, double call_us) {
  for (const CudaStep& step : steps)
    if (step.words.size() != sets) internal_error("bench: a CUDA step without the words of every set");
  LANEFOLD_TRY(runtime::CudaStream stream, device.stream());
  LANEFOLD_TRY(runtime::CudaEvent begin, device.event());
  LANEFOLD_TRY(runtime::CudaEvent end, device.event());
  std::unique_ptr<CudaTimer> timer(
      new CudaTimer(std::move(device), std::move(steps), sets, std::move(stream), std::move(begin), std::move(end)));
  const auto wanted = static_cast<std::uint64_t>(std::clamp(kGraphUs / std::max(call_us, 1.0), 1.0, kMostCalls));
  timer->recorded_ = (wanted + sets - 1) / sets * sets;
  return timer;
}

Status CudaTimer::put(std::uint64_t calls, CUstream stream) const {
  for (std::uint64_t i = 0; i < calls; ++i)
    for (const CudaStep& step : steps_)
      LANEFOLD_CHECK(device_.launch(*step.kernel, step.shape, step.words[i % sets_], stream));
  return success();
}

Status CudaTimer::once() const {
  LANEFOLD_CHECK(put(1, stream_.handle()));
  return stream_.synchronize();
}

Result<const runtime::CudaGraph*> CudaTimer::graph(std::uint64_t calls) {
  const bool is_long = calls == recorded_;
  std::optional<runtime::CudaGraph>& slot = is_long ? long_ : tail_;
  if (!slot || (!is_long && tail_calls_ != calls)) {
    LANEFOLD_TRY(runtime::CudaGraph made, device_.capture(stream_.handle(), [&](CUstream s) { return put(calls, s); }));
    slot.emplace(std::move(made));
    if (!is_long) tail_calls_ = calls;
  }
  return static_cast<const runtime::CudaGraph*>(&*slot);
}

Result<Timing> CudaTimer::run(std::uint64_t calls) {
  const std::uint64_t whole = calls / recorded_, rest = calls % recorded_;
  const runtime::CudaGraph* repeated = nullptr;
  const runtime::CudaGraph* last = nullptr;
  if (whole > 0) {
    LANEFOLD_TRY(repeated, graph(recorded_));
  }
  if (rest > 0) {
    LANEFOLD_TRY(last, graph(rest));
  }
  LANEFOLD_CHECK(stream_.synchronize());
  const auto began = Clock::now();
  LANEFOLD_CHECK(begin_.record(stream_.handle()));
  for (std::uint64_t i = 0; i < whole; ++i) LANEFOLD_CHECK(repeated->launch(stream_.handle()));
  if (last != nullptr) LANEFOLD_CHECK(last->launch(stream_.handle()));
  LANEFOLD_CHECK(end_.record(stream_.handle()));
  LANEFOLD_CHECK(end_.synchronize());
  Timing timing;
  timing.wall_ns = std::chrono::duration<double, std::nano>(Clock::now() - began).count();
  LANEFOLD_TRY(const double microseconds, end_.microseconds_since(begin_));
  timing.device_ns = microseconds * 1000;
  return timing;
}

Result<std::vector<double>> CudaTimer::enqueue_us(int samples) const {
  std::vector<double> times;
  LANEFOLD_CHECK(once());
  for (int i = 0; i < samples; ++i) {
    const auto began = Clock::now();
    LANEFOLD_CHECK(put(kEnqueued, stream_.handle()));
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count() / kEnqueued);
    LANEFOLD_CHECK(stream_.synchronize());
  }
  return times;
}

}  // namespace lanefold::bench
#endif
