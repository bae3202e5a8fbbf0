#include "bench/stats/paired.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

#include "base/diagnostic.h"
#include "base/random.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {
namespace {

Pair pair_of(PairKind kind, double first_us, double second_us) { return {{kind, false}, first_us, second_us}; }

/// `count` ab pairs around `ratio` and as many null pairs of each kind whose ratios reach from 1 / 1.01 to 1.01.
std::vector<Pair> pairs_around(double ratio, int count) {
  std::vector<Pair> pairs;
  for (int i = 0; i < count; ++i) {
    const double share = count == 1 ? 0 : 2.0 * i / (count - 1) - 1;
    pairs.push_back(pair_of(PairKind::ab, 200, 200 * ratio * std::pow(1.001, share)));
    pairs.push_back(pair_of(PairKind::aa, 200, 200 * std::pow(1.01, share)));
    pairs.push_back(pair_of(PairKind::bb, 200 * ratio * std::pow(1.01, share), 200 * ratio));
  }
  return pairs;
}

void expect_same_turns(const std::vector<PairTurn>& a, const std::vector<PairTurn>& b, bool same) {
  const auto equal = [](const PairTurn& x, const PairTurn& y) {
    return x.kind == y.kind && x.second_first == y.second_first;
  };
  EXPECT_EQ(std::equal(a.begin(), a.end(), b.begin(), b.end(), equal), same);
}

TEST(PairSchedule, HoldsEachKindWithBalancedOrders) {
  for (const int pairs : {0, 1, 2, 9, 30}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto turns = pair_schedule(pairs, seed);
      ASSERT_EQ(turns.size(), static_cast<std::size_t>(3 * pairs));
      for (const PairKind kind : {PairKind::ab, PairKind::aa, PairKind::bb}) {
        std::array<int, 2> orders{};
        for (const PairTurn& turn : turns) {
          if (turn.kind == kind) ++orders[turn.second_first ? 1 : 0];
        }
        EXPECT_EQ(orders[0] + orders[1], pairs);
        EXPECT_EQ(std::abs(orders[0] - orders[1]), pairs % 2);
      }
    }
  }
}

TEST(PairSchedule, SameSeedSameSchedule) {
  expect_same_turns(pair_schedule(12, 5), pair_schedule(12, 5), true);
  expect_same_turns(pair_schedule(12, 5), pair_schedule(12, 6), false);
}

TEST(PairSchedule, EveryPlaceSeesEveryTurn) {
  // One pair of each kind: 3! orders of the kinds times 2^3 inner orders, each about equally often.
  std::array<int, 64> seen{};
  std::array<std::array<int, 3>, 3> kinds{};
  const int runs = 9600;
  for (int seed = 0; seed < runs; ++seed) {
    const auto turns = pair_schedule(1, static_cast<std::uint64_t>(seed));
    std::size_t inner = 0;
    for (std::size_t place = 0; place < 3; ++place) {
      ++kinds[place][static_cast<std::size_t>(turns[place].kind)];
      inner = 2 * inner + (turns[place].second_first ? 1 : 0);
    }
    ++seen[static_cast<std::size_t>(turns[0].kind) * 16 + (turns[1].kind < turns[2].kind ? 8 : 0) + inner];
  }
  for (std::size_t order = 0; order < 48; ++order) EXPECT_NEAR(seen[order], runs / 48, 75) << order;
  for (const auto& place : kinds) {
    for (const int count : place) EXPECT_NEAR(count, runs / 3, 240);
  }
}

TEST(PairSchedule, RefusesANegativeNumber) { EXPECT_THROW(pair_schedule(-1, 0), InternalError); }

TEST(Names, AreThoseOfReports) {
  EXPECT_EQ(pair_kind_name(PairKind::ab), "ab");
  EXPECT_EQ(pair_kind_name(PairKind::aa), "aa");
  EXPECT_EQ(pair_kind_name(PairKind::bb), "bb");
  EXPECT_EQ(claim_name(Claim::faster), "faster");
  EXPECT_EQ(claim_name(Claim::slower), "slower");
  EXPECT_EQ(claim_name(Claim::no_difference_shown), "no difference shown");
}

TEST(JudgePairs, NumbersOfAKnownRun) {
  const PairedVerdict verdict = judge_pairs(pairs_around(0.9, 11));
  EXPECT_EQ(verdict.claim, Claim::faster);
  EXPECT_NEAR(verdict.ratio, 0.9, 1e-12);
  EXPECT_NEAR(verdict.ratio_low, 0.9 * std::pow(1.001, -0.8), 1e-12);
  EXPECT_NEAR(verdict.ratio_high, 0.9 * std::pow(1.001, 0.8), 1e-12);
  // 22 null magnitudes: 0 twice, 0.2 … 1 four times each; place 0.8 · 21 = 16.8 lies among those of 0.8.
  EXPECT_NEAR(verdict.null_high, std::pow(1.01, 0.8), 1e-12);
  EXPECT_NEAR(verdict.null_low * verdict.null_high, 1, 1e-12);
  EXPECT_NEAR(verdict.probability, 2.0 / 2048, 1e-15);
}

TEST(JudgePairs, ClaimsOnlyOutsideTheNull) {
  EXPECT_EQ(judge_pairs(pairs_around(1.1, 11)).claim, Claim::slower);
  EXPECT_EQ(judge_pairs(pairs_around(1.009, 11)).claim, Claim::slower);
  EXPECT_EQ(judge_pairs(pairs_around(1.007, 11)).claim, Claim::no_difference_shown);
  EXPECT_EQ(judge_pairs(pairs_around(1 / 1.009, 11)).claim, Claim::faster);
  EXPECT_EQ(judge_pairs(pairs_around(1 / 1.007, 11)).claim, Claim::no_difference_shown);
  EXPECT_LT(judge_pairs(pairs_around(1.007, 11)).probability, kSignificance);  // so the null is what held it back
}

TEST(JudgePairs, FewerThanEightPairsShowNothing) {
  EXPECT_EQ(judge_pairs(pairs_around(0.5, 7)).claim, Claim::no_difference_shown);
  EXPECT_NEAR(judge_pairs(pairs_around(0.5, 7)).probability, 2.0 / 128, 1e-15);
  EXPECT_EQ(judge_pairs(pairs_around(0.5, 8)).claim, Claim::faster);
  EXPECT_EQ(judge_pairs(pairs_around(0.5, 1)).claim, Claim::no_difference_shown);
}

TEST(JudgePairs, NeedsBothPairsAndNullPairs) {
  const std::vector<Pair> all = pairs_around(0.5, 12);
  std::vector<Pair> ab, null;
  for (const Pair& pair : all) (pair.turn.kind == PairKind::ab ? ab : null).push_back(pair);
  const PairedVerdict without_null = judge_pairs(ab);
  EXPECT_EQ(without_null.claim, Claim::no_difference_shown);
  EXPECT_NEAR(without_null.ratio, 0.5, 1e-12);
  EXPECT_EQ(without_null.null_high, 1);
  const PairedVerdict only_null = judge_pairs(null);
  EXPECT_EQ(only_null.claim, Claim::no_difference_shown);
  EXPECT_EQ(only_null.ratio, 1);
  EXPECT_EQ(only_null.probability, 1);
  EXPECT_NEAR(only_null.null_high, judge_pairs(all).null_high, 1e-15);
  EXPECT_EQ(judge_pairs({}).claim, Claim::no_difference_shown);
  // A clock so coarse that all times agree shows nothing.
  EXPECT_EQ(judge_pairs(std::vector<Pair>(20, pair_of(PairKind::ab, 3, 3))).probability, 1);
}

TEST(JudgePairs, RefusesTimesThatCannotBe) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, infinity, std::numeric_limits<double>::quiet_NaN()}) {
    for (const PairKind kind : {PairKind::ab, PairKind::aa, PairKind::bb}) {
      EXPECT_THROW(judge_pairs(std::vector<Pair>{pair_of(kind, bad, 1)}), InternalError);
      EXPECT_THROW(judge_pairs(std::vector<Pair>{pair_of(kind, 1, bad)}), InternalError);
    }
  }
}

TEST(JudgePairs, ExchangingTheArmsInvertsTheVerdict) {
  Random random(21);
  SCOPED_TRACE("seed 21");
  std::set<Claim> met;
  for (int round = 0; round < 3000; ++round) {
    const auto count = 3 * (1 + random.below(24));
    const double shift = 0.3 * static_cast<double>(random.unit()), spread = 0.2 * std::abs(random.unit());
    std::vector<Pair> pairs;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto kind = static_cast<PairKind>(random.below(3));
      const double us = 10 + static_cast<double>(random.below(1000));
      const double difference = spread * static_cast<double>(random.unit()) + (kind == PairKind::ab ? shift : 0);
      pairs.push_back(pair_of(kind, us, us * std::exp(difference)));
    }
    std::vector<Pair> exchanged = pairs;
    for (Pair& pair : exchanged) {
      if (pair.turn.kind == PairKind::ab) std::swap(pair.first_us, pair.second_us);
    }
    const PairedVerdict one = judge_pairs(pairs), other = judge_pairs(exchanged);
    met.insert(one.claim);
    const Claim inverse = one.claim == Claim::faster   ? Claim::slower
                          : one.claim == Claim::slower ? Claim::faster
                                                       : Claim::no_difference_shown;
    ASSERT_EQ(other.claim, inverse) << round;
    ASSERT_NEAR(one.ratio * other.ratio, 1, 1e-12) << round;
    ASSERT_NEAR(one.ratio_low * other.ratio_high, 1, 1e-12) << round;
    ASSERT_EQ(one.null_high, other.null_high) << round;
    ASSERT_NEAR(one.probability, other.probability, 1e-15) << round;
    if (one.claim == Claim::faster) {
      ASSERT_LT(one.ratio, one.null_low) << round;
    }
    if (one.claim == Claim::slower) {
      ASSERT_GT(one.ratio, one.null_high) << round;
    }
    if (one.claim != Claim::no_difference_shown) {
      ASSERT_LE(one.probability, kSignificance) << round;
    }
  }
  EXPECT_EQ(met.size(), 3u);
}

}  // namespace
}  // namespace lanefold::bench
