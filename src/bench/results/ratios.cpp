#include "bench/results/ratios.h"

#include <algorithm>

#include "bench/stats/statistics.h"

namespace lanefold::bench {

const std::vector<double>& judged_us(const ArmRecord& arm) {
  return arm.device_us.empty() ? arm.wall_us : arm.device_us;
}

std::vector<double> same_round_ratios(const ArmRecord& a, const ArmRecord& b) {
  std::vector<double> ratios;
  const bool by_device = !a.device_us.empty() && !b.device_us.empty();
  const std::vector<double>& a_us = by_device ? a.device_us : a.wall_us;
  const std::vector<double>& b_us = by_device ? b.device_us : b.wall_us;
  const std::size_t rounds = std::min(a_us.size(), b_us.size());
  for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(a_us[i] / b_us[i]);
  return ratios;
}

RatioSpread ratio_spread(const std::vector<double>& ratios) {
  return {median(ratios), quantile(ratios, 0.1), quantile(ratios, 0.9)};
}

}  // namespace lanefold::bench
