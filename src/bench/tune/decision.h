// Which plan wins: what a screening proposes, two paired comparisons must find. Knows no kernel and no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "bench/stats/paired.h"

namespace lanefold::bench {

/// One paired comparison of a plan with the default one.
struct Trial {
  std::size_t plan = 0;  ///< its number in the screening
  std::uint64_t seed = 0;
  bool confirms = false;               ///< it repeats one that has claimed the plan to be faster
  int pairs = 0;                       ///< of the plan and the default one
  double default_us = 0, plan_us = 0;  ///< medians over the pairs, of a call
  PairedVerdict verdict;               ///< of the plan beside the default one
};

struct Decision {
  std::vector<Trial> trials;          ///< in the order in which they were made
  std::optional<std::size_t> winner;  ///< none: the default plan is kept
};

/// Compares the plan of that number with the default one, on kernels and buffers made anew, in the random order of the seed. It fills
/// everything but `plan`, `seed` and `confirms`.
using Compare = std::function<Result<Trial>(std::size_t plan, std::uint64_t seed)>;

/// The plans whose screened time is below that of the default plan, number 0: the fastest first, `most` at most. A plan without a time
/// was left out. None where the default plan has no time.
std::vector<std::size_t> finalists(std::span<const std::optional<double>> screened_us, std::size_t most);

/// Tries the finalists in their order until one is claimed to be faster (Claim::faster) twice: by a first comparison, and by a second one
/// with another seed. A comparison that fails ends it.
Result<Decision> decide(std::span<const std::size_t> finalists, std::uint64_t seed, const Compare& compare);

}  // namespace lanefold::bench
