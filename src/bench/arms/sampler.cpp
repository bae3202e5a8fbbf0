#include "bench/arms/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lanefold::bench {
namespace {

constexpr double kNsPerMs = 1e6;
/// A batch of the fastest kernel stays countable.
constexpr std::uint64_t kMostCalls = std::uint64_t{1} << 40;

/// Calls the arm for at least so long; 0 ms: not at all.
Status run_for(Arm& arm, double ms, std::uint64_t batch) {
  for (double spent = 0; spent < ms * kNsPerMs;) {
    LANEFOLD_TRY(const Timing timing, arm.run(batch));
    spent += timing.wall_ns;
  }
  return success();
}

}  // namespace

Result<std::uint64_t> calibrate(Arm& arm, const Protocol& protocol) {
  const double wanted = 0.8 * protocol.sample_ms * kNsPerMs;
  double spent = 0;
  for (std::uint64_t calls = 1;;) {
    const bool warm = spent >= protocol.warmup_ms * kNsPerMs;
    LANEFOLD_TRY(const Timing timing, arm.run(calls));
    spent += timing.wall_ns;
    if (warm && timing.wall_ns >= wanted) return calls;
    if (calls >= kMostCalls)
      return Diagnostic{Code::peer_protocol, fmt::format("{} calls are said to take {} ns", calls, timing.wall_ns),
                        "times are in ns, of all calls together", ""};
    if (timing.wall_ns >= wanted) continue;
    // Aims at the middle of the allowed range, and never more than tenfold: the first calls are slower than those to come.
    const double per_call = std::max(timing.wall_ns, 1.0) / static_cast<double>(calls);
    const double aim = std::ceil(wanted * 1.1 / per_call);
    const double most = static_cast<double>(calls) * 10;
    const auto next = static_cast<std::uint64_t>(std::min({aim, most, static_cast<double>(kMostCalls)}));
    calls = std::min(std::max(calls + 1, next), kMostCalls);
  }
}

namespace {

/// One sample of an arm, after what settles it.
Status take_sample(Arm& arm, Sampled& samples, double settle_ms) {
  LANEFOLD_CHECK(run_for(arm, settle_ms, std::max<std::uint64_t>(1, samples.calls / 16)));
  LANEFOLD_CHECK(arm.restore());
  LANEFOLD_TRY(const Timing timing, arm.run(samples.calls));
  const double calls = static_cast<double>(samples.calls);
  samples.wall_us.push_back(timing.wall_ns / calls / 1000);
  if (timing.device_ns) samples.device_us.push_back(*timing.device_ns / calls / 1000);
  return success();
}

}  // namespace

Result<std::vector<Sampled>> sample_rounds(std::span<Arm* const> arms, const Protocol& protocol,
                                           const std::function<void(int)>& progress) {
  std::vector<Sampled> sampled(arms.size());
  for (std::size_t a = 0; a < arms.size(); ++a) {
    Status ready = arms[a]->restore();
    if (ready) {
      const Result<std::uint64_t> calls = calibrate(*arms[a], protocol);
      if (calls) sampled[a].calls = *calls;
      if (!calls) ready = calls.error();
    }
    if (!ready && a == 0) return ready.error();
    if (!ready) sampled[a].failure = ready.error();
  }
  for (int round = 0; round < protocol.samples; ++round)
    for (std::size_t turn = 0; turn < arms.size(); ++turn) {
      const std::size_t a = (turn + static_cast<std::size_t>(round)) % arms.size();
      if (sampled[a].failure) continue;
      const Status taken = take_sample(*arms[a], sampled[a], arms.size() > 1 ? protocol.settle_ms : 0);
      if (!taken && a == 0) return taken.error();
      if (!taken) sampled[a].failure = taken.error();
      if (taken) sampled[a].turns.push_back(static_cast<int>(turn));
      if (progress) progress(round * static_cast<int>(arms.size()) + static_cast<int>(turn) + 1);
    }
  return sampled;
}

Result<std::vector<double>> single_calls(Arm& arm, const Protocol& protocol) {
  LANEFOLD_CHECK(arm.restore());
  std::vector<double> times;
  for (int i = 0; i < protocol.single_calls; ++i) {
    LANEFOLD_TRY(const Timing timing, arm.run(1));
    times.push_back(timing.wall_ns / 1000);
  }
  return times;
}

}  // namespace lanefold::bench
