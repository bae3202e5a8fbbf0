#include "bench/results/ratios.h"

#include <algorithm>

#include "bench/stats/statistics.h"

namespace lanefold::bench {

std::vector<double> same_round_ratios(const ArmRecord& a, const ArmRecord& b) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(a.wall_us.size(), b.wall_us.size());
  for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(a.wall_us[i] / b.wall_us[i]);
  return ratios;
}

RatioSpread ratio_spread(const std::vector<double>& ratios) {
  return {median(ratios), quantile(ratios, 0.1), quantile(ratios, 0.9)};
}

}  // namespace lanefold::bench
