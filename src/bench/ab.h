// Paired comparison of two kernels over the same buffers: first their bytes, then their times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/bytes_verdict.h"
#include "bench/case.h"

namespace lanefold::bench {

/// How often each kernel is made.
inline constexpr int kMakes = 4;

struct AbRequest {
  SubjectRequest a, b;
  int pairs = 9;             ///< of each kind: A with B, A with its twin, B with its twin
  int repetitions = 12;      ///< timed batches of a sample; their median is its time
  double repetition_ms = 5;  ///< about as long as a batch lasts, of A and of B alike
  double warmup_ms = 100;    ///< of each arm
  std::uint64_t seed = 1;    ///< of the random orders
  ProofEffort proof = ProofEffort::some;
  bool figures = true;  ///< those that no clock changes, for which the lane machine runs both kernels
};

/// What stands beside the comparison itself.
struct AbContext {
  CaseContext sources;                              ///< keep_source and capture_sources
  std::function<void(int done, int all)> progress;  ///< samples taken
};

/// Refuses what make_instance refuses, and kernels whose buffers differ (prove_buffers_differ).
Status check_comparable(const AbRequest& request);

/// Compares, and refuses what check_comparable refuses. An output outside of its tolerance (output_wrong), and outputs that differ where no oracle knows what is
/// right (no_meaning), are the record's failure, and then nothing is timed. All arms run on the same memory, so that
/// where a buffer lies tells no arm from another. Each kernel is compiled kMakes times, and each pair draws which of them stand in it: where code happens to
/// lie is then noise that the null pairs show too.
Result<ComparisonRecord> compare_kernels(const AbRequest& request, const AbContext& context);

}  // namespace lanefold::bench
