// Statistics of samples: quantiles, and rank tests that assume nothing about the shape of the noise.
#pragma once

#include <span>
#include <vector>

namespace lanefold::bench {

/// The value below which a share `q` (0 to 1) of the values lies, interpolated linearly between neighbours (Hyndman and
/// Fan, "Sample quantiles in statistical packages", 1996, type 7). NaN for no values; a `q` outside 0 to 1 is an
/// internal error. Here and below, no value may be NaN.
double quantile(std::span<const double> values, double q);
/// quantile(values, 0.5).
double median(std::span<const double> values);

/// Wilcoxon's signed-rank test of whether differences are symmetric around 0.
struct SignedRank {
  int pairs = 0;           ///< differences other than 0
  double rank_sum = 0;     ///< of the positive ones (W+); equal magnitudes share the mean of their ranks
  double probability = 1;  ///< two-sided: of a rank sum at least so far from its mean, were the signs thrown by coins
};
/// Differences of 0 are left out (Wilcoxon 1945). Exact over the ranks that occur, ties too, by counting sign patterns.
/// Where that would take more than 10^8 steps (only above 584 differences), by the normal distribution, corrected for
/// ties and for continuity.
SignedRank signed_rank(std::span<const double> differences);

/// Two-sided probability of Mann and Whitney's rank-sum test (1947) that two independent samples come from one
/// distribution: exact over the ranks that occur, ties too. 1 where either sample is empty. Where counting would take
/// more than 10^8 steps (only above 127 values in all), by the normal distribution, corrected for ties and for
/// continuity.
double rank_sum_probability(std::span<const double> a, std::span<const double> b);

}  // namespace lanefold::bench
