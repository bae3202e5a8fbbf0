// The one sampler: warm-up, calibrated batches, samples in rotated order.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bench/arms/arm.h"

namespace lanefold::bench {

struct Protocol {
  int samples = 11;
  double sample_ms = 100;  ///< a batch lasts at least 0.8 of it
  double warmup_ms = 100;  ///< of each arm before it is calibrated
  double settle_ms =
      40;  ///< untimed calls before a sample whose predecessor was another arm: threads of a peer spin for a while, and ours have to wake
  int single_calls = 101;  ///< calls that are timed one by one, for latency
};

/// Samples of one arm, µs per call in the order of taking.
struct Sampled {
  std::uint64_t calls = 0;  ///< of each batch
  std::vector<double> wall_us;
  std::vector<double> device_us;      ///< empty where the device has no clock
  std::vector<int> turns;             ///< place of each sample within its round, from 0
  std::optional<Diagnostic> failure;  ///< why the arm was left out of the rounds that followed
};

/// Takes `protocol.samples` rounds; round r begins with arm r mod n, so that arms alternate. Each sample begins with restored buffers. An arm
/// that fails takes part no longer; the failure of the first one ends it all. `progress` is told the samples taken.
Result<std::vector<Sampled>> sample_rounds(std::span<Arm* const> arms, const Protocol& protocol,
                                           const std::function<void(int)>& progress = {});

/// Calls per batch so that one lasts at least 0.8 of sample_ms, after the warm-up. An arm whose calls
/// take no time that a clock could tell is refused (peer_protocol: only a peer has a clock of its own).
Result<std::uint64_t> calibrate(Arm& arm, const Protocol& protocol);

/// `protocol.single_calls` calls, each timed alone, in µs.
Result<std::vector<double>> single_calls(Arm& arm, const Protocol& protocol);

}  // namespace lanefold::bench
