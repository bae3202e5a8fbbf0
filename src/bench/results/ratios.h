// Ratios of arms that were sampled in the same rounds.
#pragma once

#include <vector>

#include "bench/results/results.h"

namespace lanefold::bench {

/// The times that an arm is judged by: the device's where it has a clock.
const std::vector<double>& judged_us(const ArmRecord& arm);

/// Time of `a` over time of `b`, round by round: below 1, a is faster. By the device's clock where both have one. Rounds that one of them does not have are left out.
std::vector<double> same_round_ratios(const ArmRecord& a, const ArmRecord& b);

/// Median and spread of ratios: 0.5, 0.1 and 0.9 quantiles.
struct RatioSpread {
  double median = 1, low = 1, high = 1;
};
RatioSpread ratio_spread(const std::vector<double>& ratios);

}  // namespace lanefold::bench
