#include "bench/stats/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/diagnostic.h"
#include "base/random.h"

namespace lanefold::bench {
namespace {

using Values = std::vector<double>;

/// Twice the rank of each value by its definition: the values below it, and half of those equal to it.
std::vector<int> doubled_ranks_of(const Values& values) {
  std::vector<int> ranks;
  for (const double value : values) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double other) { return other < value; });
    const auto equal = std::count(values.begin(), values.end(), value);
    ranks.push_back(static_cast<int>(2 * below + equal + 1));
  }
  return ranks;
}

/// The share of bit patterns that `counts` lets in whose sum of ranks is at least as far from the centre as that of
/// `observed`.
template <class Counts>
double share_as_far(const std::vector<int>& ranks, unsigned observed, int doubled_centre, Counts counts) {
  const auto distance = [&](unsigned pattern) {
    int sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (pattern >> i & 1u) != 0 ? ranks[i] : 0;
    return std::abs(2 * sum - doubled_centre);
  };
  double all = 0, far = 0;
  for (unsigned pattern = 0; pattern < 1u << ranks.size(); ++pattern) {
    if (!counts(pattern)) continue;
    ++all;
    if (distance(pattern) >= distance(observed)) ++far;
  }
  return far / all;
}

double signed_rank_by_enumeration(const Values& differences) {
  Values magnitudes;
  unsigned observed = 0;
  for (const double difference : differences) {
    if (difference == 0) continue;
    if (difference > 0) observed |= 1u << magnitudes.size();
    magnitudes.push_back(std::abs(difference));
  }
  const int count = static_cast<int>(magnitudes.size());
  return share_as_far(doubled_ranks_of(magnitudes), observed, count * (count + 1), [](unsigned) { return true; });
}

double rank_sum_by_enumeration(const Values& a, const Values& b) {
  Values pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  const auto chosen = static_cast<int>(a.size());
  const int centre = 2 * chosen * (static_cast<int>(pooled.size()) + 1);
  return share_as_far(doubled_ranks_of(pooled), (1u << chosen) - 1, centre,
                      [&](unsigned pattern) { return std::popcount(pattern) == chosen; });
}

Values counting(int from, int to) {
  Values values;
  for (int value = from; value <= to; ++value) values.push_back(value);
  return values;
}

TEST(Quantile, InterpolatesBetweenNeighbours) {
  const Values values{7, 3, 10, 1, 5, 9, 2, 8, 4, 6};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 3.25);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 9.1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 10);
  EXPECT_DOUBLE_EQ(median(values), 5.5);
  EXPECT_DOUBLE_EQ(median(Values{4, -1, 2}), 2);
}

TEST(Quantile, OneValueAndNone) {
  for (const double q : {0.0, 0.3, 1.0}) EXPECT_EQ(quantile(Values{4.5}, q), 4.5);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Quantile, AnInfinityWithoutAShareDoesNotCount) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(median(Values{1, 2, infinity}), 2);
  EXPECT_EQ(quantile(Values{-infinity, 2, infinity}, 1), infinity);
  EXPECT_EQ(quantile(Values{1, infinity, infinity}, 0.75), infinity);
}

TEST(Quantile, OutsideZeroToOneIsOurFault) {
  EXPECT_THROW(quantile(Values{1, 2}, -0.01), InternalError);
  EXPECT_THROW(quantile(Values{1, 2}, 1.01), InternalError);
  EXPECT_THROW(quantile(Values{1, 2}, std::numeric_limits<double>::quiet_NaN()), InternalError);
}

// Darwin's crossed and self-fertilised maize, in eighths of an inch, as printed by Fisher, "The design of experiments",
// 1935.
TEST(SignedRank, DarwinsMaize) {
  const SignedRank rank = signed_rank(Values{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48});
  EXPECT_EQ(rank.pairs, 15);
  EXPECT_DOUBLE_EQ(rank.rank_sum, 96);
  EXPECT_DOUBLE_EQ(rank.probability, 1352.0 / 32768);
}

// Hamilton depression scores of Hollander and Wolfe, "Nonparametric statistical methods", 1973: T+ = 40 of 9 pairs.
TEST(SignedRank, DepressionScores) {
  const Values before{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const Values after{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  Values differences;
  for (std::size_t i = 0; i < before.size(); ++i) differences.push_back(before[i] - after[i]);
  const SignedRank rank = signed_rank(differences);
  EXPECT_DOUBLE_EQ(rank.rank_sum, 40);
  EXPECT_DOUBLE_EQ(rank.probability, 0.0390625);
}

TEST(SignedRank, SmallestProbabilities) {
  EXPECT_DOUBLE_EQ(signed_rank(counting(1, 7)).probability, 2.0 / 128);
  EXPECT_DOUBLE_EQ(signed_rank(counting(1, 8)).probability, 2.0 / 256);
  EXPECT_DOUBLE_EQ(signed_rank(counting(-8, -1)).probability, 2.0 / 256);
  EXPECT_DOUBLE_EQ(signed_rank(Values{-1, 2, 3, 4, 5, 6, 7, 8, 9}).probability, 4.0 / 512);
  EXPECT_DOUBLE_EQ(signed_rank(Values{1, -2, 3, 4, 5, 6, 7, 8, 9}).probability, 6.0 / 512);
}

TEST(SignedRank, ZerosAreLeftOut) {
  const SignedRank none = signed_rank({});
  EXPECT_EQ(none.pairs, 0);
  EXPECT_EQ(none.rank_sum, 0);
  EXPECT_EQ(none.probability, 1);
  EXPECT_EQ(signed_rank(Values{0, 0, -0.0}).pairs, 0);
  EXPECT_EQ(signed_rank(Values{0, 0, -0.0}).probability, 1);
  const SignedRank one = signed_rank(Values{0, -3});
  EXPECT_EQ(one.pairs, 1);
  EXPECT_EQ(one.rank_sum, 0);
  EXPECT_EQ(one.probability, 1);
  EXPECT_EQ(signed_rank(Values{5, 0, 1, 2}).probability, signed_rank(Values{5, 1, 2}).probability);
}

TEST(SignedRank, TiesShareTheirMeanRank) {
  const SignedRank rank = signed_rank(Values{1, -1, 2, 2, 2, -5});
  EXPECT_DOUBLE_EQ(rank.rank_sum, 1.5 + 3 * 4);
  // All equal: the probability of the binomial distribution.
  EXPECT_DOUBLE_EQ(signed_rank(Values{2, 2, 2, 2, 2, 2, -2, 2, 2, 2}).probability, 2 * 11.0 / 1024);
}

TEST(SignedRank, AgreesWithEnumeration) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    Values differences(1 + random.below(round < 20 ? 12 : 9));
    const std::uint64_t range = 2 + random.below(20);  // a small one for many ties and zeros
    for (double& value : differences) value = static_cast<double>(random.below(range)) - static_cast<double>(range / 3);
    ASSERT_NEAR(signed_rank(differences).probability, signed_rank_by_enumeration(differences), 1e-12) << round;
  }
}

TEST(SignedRank, ManyPairs) {
  for (const int count : {400, 1000}) {  // counted, and by the normal distribution
    Values differences;
    for (int i = 1; i <= count; ++i) differences.push_back(i % 9 == 0 || i % 2 == 0 ? -i : i);
    const SignedRank rank = signed_rank(differences);
    const double mean = 0.25 * count * (count + 1);
    const double deviation = std::sqrt(mean * (2 * count + 1) / 6);
    const double expected = std::erfc((std::abs(rank.rank_sum - mean) - 0.5) / deviation / std::sqrt(2));
    EXPECT_NEAR(rank.probability, expected, 2e-4) << count;
    EXPECT_GT(rank.probability, 1e-3) << count;
    EXPECT_LT(rank.probability, 0.3) << count;
  }
  // Far in the tail the count stays cheap, whatever the number of pairs.
  EXPECT_DOUBLE_EQ(signed_rank(counting(1, 1000)).probability, std::ldexp(1, -999));
  EXPECT_DOUBLE_EQ(signed_rank(Values(60, -0.5)).probability, std::ldexp(1, -59));
}

// Permeability of membranes, Hollander and Wolfe 1973: a rank sum of 90 (U = 35) for 10 and 5 values.
TEST(RankSum, Membranes) {
  const Values term{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const Values early{1.15, 0.88, 0.90, 0.74, 1.21};
  EXPECT_NEAR(rank_sum_probability(term, early), 0.2544123, 5e-8);
}

TEST(RankSum, SmallestProbabilities) {
  EXPECT_NEAR(rank_sum_probability(counting(1, 5), counting(6, 10)), 2.0 / 252, 1e-15);
  EXPECT_NEAR(rank_sum_probability(counting(4, 10), counting(1, 3)), 2.0 / 120, 1e-15);
  EXPECT_NEAR(rank_sum_probability(Values{1}, Values{2}), 1, 1e-15);
}

TEST(RankSum, EmptyAndEqual) {
  EXPECT_EQ(rank_sum_probability({}, Values{1, 2}), 1);
  EXPECT_EQ(rank_sum_probability(Values{1, 2}, {}), 1);
  EXPECT_EQ(rank_sum_probability(Values{3, 3, 3}, Values{3, 3}), 1);
}

TEST(RankSum, AgreesWithEnumeration) {
  Random random(12);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t count = 2 + random.below(round < 20 ? 11 : 8);
    Values a(1 + random.below(count - 1)), b(count - a.size());
    const std::uint64_t range = 2 + random.below(20);
    for (double& value : a) value = static_cast<double>(random.below(range));
    for (double& value : b) value = static_cast<double>(random.below(range));
    const double probability = rank_sum_probability(a, b);
    ASSERT_NEAR(probability, rank_sum_by_enumeration(a, b), 1e-12) << round;
    ASSERT_NEAR(probability, rank_sum_probability(b, a), 1e-12) << round;
  }
}

TEST(RankSum, ManyValues) {
  for (const int count : {30, 1000}) {  // counted, and by the normal distribution
    // Every other value is the first sample's, but the lowest ones all are.
    Values a, b;
    const int lowest = static_cast<int>(std::sqrt(count) * 0.9);
    for (int i = 0; i < lowest; ++i) a.push_back(i);
    for (int i = 0; static_cast<int>(a.size()) < count; ++i) a.push_back(1000 + 2 * i);
    for (int i = 0; i < count; ++i) b.push_back(1001 + 2 * i);
    double above = 0;  // U: pairs in which the second sample's is larger
    for (const double x : a)
      above += static_cast<double>(std::count_if(b.begin(), b.end(), [&](double y) { return y > x; }));
    const double squared = static_cast<double>(count) * count;
    const double deviation = std::sqrt(squared * (2 * count + 1) / 12);
    const double expected = std::erfc((std::abs(above - squared / 2) - 0.5) / deviation / std::sqrt(2));
    EXPECT_NEAR(rank_sum_probability(a, b), expected, 2e-3) << count;
    EXPECT_LT(expected, 0.5) << count;
    EXPECT_GT(expected, 1e-3) << count;
  }
}

// With ties the variance shrinks: of two values only, the number of the larger ones drawn is hypergeometric.
TEST(RankSum, ManyTies) {
  Values a(500, 1.0), b(500, 1.0);
  std::fill_n(a.begin(), 30, 2.0);
  std::fill_n(b.begin(), 50, 2.0);
  const double count = 1000, twos = 80;
  const double deviation = std::sqrt(twos * 0.25 * (count - twos) / (count - 1));
  EXPECT_NEAR(rank_sum_probability(a, b), std::erfc(9.5 / deviation / std::sqrt(2)), 1e-6);
}

}  // namespace
}  // namespace lanefold::bench
