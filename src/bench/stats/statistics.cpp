#include "bench/stats/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "base/diagnostic.h"

namespace lanefold::bench {
namespace {

/// Above this many steps the exact count gives way to the normal distribution, which is by then as good.
constexpr double kExactSteps = 1e8;

/// Ranks from 1 of values in ascending order, doubled, so that the mean rank of equal values is an integer too.
struct DoubledRanks {
  std::vector<std::int64_t> ranks;
  std::int64_t unit = 1;  ///< divides all of them: 2 where nothing is tied, which halves the range to count over
};

DoubledRanks doubled_ranks(std::span<const double> ascending) {
  DoubledRanks out;
  out.ranks.resize(ascending.size());
  std::int64_t common = 0;
  for (std::size_t begin = 0; begin < ascending.size();) {
    std::size_t end = begin + 1;
    while (end < ascending.size() && ascending[end] == ascending[begin]) ++end;
    const auto rank = static_cast<std::int64_t>(begin + 1 + end);  // twice the mean of begin + 1 … end
    for (; begin < end; ++begin) out.ranks[begin] = rank;
    common = std::gcd(common, rank);
  }
  out.unit = std::max<std::int64_t>(common, 1);
  return out;
}

/// Two-sided probability of a normal variable at least `distance` from its mean, for one that really moves in steps of
/// `unit`.
double normal_tails(double distance, double unit, double variance) {
  const double inward = std::max(0.0, distance - unit / 2);
  return std::erfc(inward / std::sqrt(2 * variance));
}

/// Probability that the sum of the ranks whose coins show heads is at most `limit`; all in multiples of one unit.
double coin_sum_at_most(std::span<const std::int64_t> ranks, std::int64_t unit, std::int64_t limit) {
  std::vector<double> sums(static_cast<std::size_t>(limit + 1), 0.0);
  sums[0] = 1;
  std::int64_t reached = 0;
  for (const std::int64_t doubled : ranks) {
    const std::int64_t rank = doubled / unit;
    reached = std::min(limit, reached + rank);
    double* const at = sums.data();
    for (std::int64_t sum = reached; sum >= rank; --sum) at[sum] = 0.5 * (at[sum] + at[sum - rank]);
    for (std::int64_t sum = std::min(reached, rank - 1); sum >= 0; --sum) at[sum] *= 0.5;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// Probability that `chosen` of the ranks, drawn without replacement, sum to at least `distance` away from `mean`.
/// Ranks are taken one after the other, each drawn with the chance that it has given how many were drawn before it, so
/// that nothing overflows.
double draw_sum_tails(const DoubledRanks& all, std::size_t chosen, std::int64_t largest, std::int64_t mean,
                      std::int64_t distance) {
  const std::size_t count = all.ranks.size();
  const auto width = static_cast<std::size_t>(largest / all.unit + 1);
  std::vector<double> table((chosen + 1) * width, 0.0);  // [drawn so far][their sum]
  std::vector<std::size_t> reached(chosen + 1, 0);       // the largest sum that occurs
  table[0] = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto rank = static_cast<std::size_t>(all.ranks[i] / all.unit);
    for (std::size_t drawn = std::min(i, chosen) + 1; drawn-- > 0;) {
      const double take = std::min(1.0, static_cast<double>(chosen - drawn) / static_cast<double>(count - i));
      double* const row = &table[drawn * width];
      const std::size_t end = std::min(reached[drawn] + 1, width);
      if (drawn < chosen) {
        const std::size_t fits = std::min(end, width - std::min(width, rank));
        double* const next = row + width + rank;
        for (std::size_t sum = 0; sum < fits; ++sum) next[sum] += take * row[sum];
        reached[drawn + 1] = std::max(reached[drawn + 1], reached[drawn] + rank);
      }
      for (std::size_t sum = 0; sum < end; ++sum) row[sum] *= 1 - take;
    }
  }
  double tails = 0;
  for (std::size_t sum = 0; sum < width; ++sum) {
    const std::int64_t away = static_cast<std::int64_t>(sum) * all.unit - mean;
    if (away >= distance || -away >= distance) tails += table[chosen * width + sum];
  }
  return tails;
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  if (!(q >= 0 && q <= 1)) internal_error("a quantile is asked for outside 0 to 1");
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double share = position - static_cast<double>(below);
  // Also keeps an infinite neighbour that has no share out of the sum.
  if (share == 0) return ascending[below];
  return (1 - share) * ascending[below] + share * ascending[below + 1];
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

SignedRank signed_rank(std::span<const double> differences) {
  std::vector<double> nonzero;
  nonzero.reserve(differences.size());
  for (const double difference : differences) {
    if (difference != 0) nonzero.push_back(difference);
  }
  std::sort(nonzero.begin(), nonzero.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  std::vector<double> magnitudes(nonzero.size());
  std::transform(nonzero.begin(), nonzero.end(), magnitudes.begin(), [](double value) { return std::abs(value); });
  const DoubledRanks all = doubled_ranks(magnitudes);

  std::int64_t positive = 0, total = 0;
  double squares = 0;
  for (std::size_t i = 0; i < nonzero.size(); ++i) {
    const std::int64_t rank = all.ranks[i];
    total += rank;
    if (nonzero[i] > 0) positive += rank;
    squares += static_cast<double>(rank) * static_cast<double>(rank);
  }
  SignedRank out;
  out.pairs = static_cast<int>(nonzero.size());
  out.rank_sum = static_cast<double>(positive) / 2;
  const std::int64_t lower = std::min(positive, total - positive);
  if (2 * lower >= total) return out;  // at its mean; no differences at all are too
  const std::int64_t limit = lower / all.unit;
  if (static_cast<double>(limit + 1) * static_cast<double>(nonzero.size()) > kExactSteps) {
    // A rank adds all of itself or nothing: variance rank² / 4.
    const double distance = static_cast<double>(total) / 2 - static_cast<double>(lower);
    out.probability = normal_tails(distance, static_cast<double>(all.unit), squares / 4);
  } else {
    out.probability = std::min(1.0, 2 * coin_sum_at_most(all.ranks, all.unit, limit));  // the sum is symmetric
  }
  return out;
}

double rank_sum_probability(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  // The two-sided probability is the same from either side; the smaller sample has fewer subsets.
  if (a.size() > b.size()) std::swap(a, b);
  struct Value {
    double value;
    bool counted;
  };
  std::vector<Value> pooled;
  pooled.reserve(a.size() + b.size());
  for (const double value : a) pooled.push_back({value, true});
  for (const double value : b) pooled.push_back({value, false});
  std::sort(pooled.begin(), pooled.end(), [](const Value& x, const Value& y) { return x.value < y.value; });
  std::vector<double> ascending(pooled.size());
  std::transform(pooled.begin(), pooled.end(), ascending.begin(), [](const Value& value) { return value.value; });
  const DoubledRanks all = doubled_ranks(ascending);

  const auto count = static_cast<std::int64_t>(pooled.size());
  const auto chosen = static_cast<std::int64_t>(a.size());
  std::int64_t observed = 0;
  double spread = 0;  // squared deviations of the ranks from their mean, count + 1
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    if (pooled[i].counted) observed += all.ranks[i];
    const auto deviation = static_cast<double>(all.ranks[i] - (count + 1));
    spread += deviation * deviation;
  }
  const std::int64_t mean = chosen * (count + 1);
  const std::int64_t distance = std::abs(observed - mean);
  if (distance == 0) return 1;
  const std::int64_t largest = std::accumulate(all.ranks.end() - chosen, all.ranks.end(), std::int64_t{0});
  const double cells = static_cast<double>(chosen) * static_cast<double>(largest / all.unit + 1);
  if (cells * static_cast<double>(count) > kExactSteps) {
    // Variance of a sum drawn without replacement; with the actual ranks in it, ties are accounted for.
    const double share = static_cast<double>(chosen) / static_cast<double>(count);
    const double variance = share * static_cast<double>(count - chosen) / static_cast<double>(count - 1) * spread;
    // One drawn value changes for another, so the sum moves by differences of ranks.
    std::int64_t step = 0;
    for (const std::int64_t rank : all.ranks) step = std::gcd(step, rank - all.ranks.front());
    return normal_tails(static_cast<double>(distance), static_cast<double>(step), variance);
  }
  return std::min(1.0, draw_sum_tails(all, a.size(), largest, mean, distance));
}

}  // namespace lanefold::bench
