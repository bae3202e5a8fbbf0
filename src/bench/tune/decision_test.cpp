#include "bench/tune/decision.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace lanefold::bench {
namespace {

using Times = std::vector<std::optional<double>>;

TEST(FinalistsTest, AreFasterThanTheStandardPlanTheFastestFirst) {
  EXPECT_EQ(finalists(Times{10, 9, 11, 7, 8}, 9), (std::vector<std::size_t>{3, 4, 1}));
  EXPECT_EQ(finalists(Times{10, 9, 11, 7, 8}, 2), (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(finalists(Times{10, 9, std::nullopt, 9}, 9), (std::vector<std::size_t>{1, 3}));
}

TEST(FinalistsTest, AreNoneWhereNothingIsFaster) {
  EXPECT_TRUE(finalists(Times{10, 10, 11}, 9).empty());
  EXPECT_TRUE(finalists(Times{10}, 9).empty());
  EXPECT_TRUE(finalists(Times{}, 9).empty());
  EXPECT_TRUE(finalists(Times{std::nullopt, 5}, 9).empty());
  EXPECT_TRUE(finalists(Times{10, 9}, 0).empty());
}

/// A comparison of made-up times: plan p takes `ratio[p]` of the default plan's, with noise of so many percent; the comparisons
/// numbered in `unlucky` are 20 % slower.
struct MadeUp {
  std::vector<double> ratio;
  double noise = 0.001;
  std::vector<std::size_t> unlucky = {};
  std::vector<std::pair<std::size_t, std::uint64_t>> asked = {};

  Result<Trial> operator()(std::size_t plan, std::uint64_t seed) {
    const bool is_unlucky = std::find(unlucky.begin(), unlucky.end(), asked.size()) != unlucky.end();
    asked.emplace_back(plan, seed);
    Random random(seed);
    const auto noisy = [&](double time) { return time * std::exp(noise * static_cast<double>(random.unit())); };
    std::vector<Pair> pairs;
    for (const PairTurn& turn : pair_schedule(11, seed)) {
      const double b = 10 * ratio[plan] * (is_unlucky ? 1.2 : 1);
      pairs.push_back({turn, noisy(turn.kind == PairKind::bb ? b : 10), noisy(turn.kind == PairKind::aa ? 10 : b)});
    }
    Trial trial;
    trial.default_us = 10;
    trial.plan_us = 10 * ratio[plan];
    trial.verdict = judge_pairs(pairs);
    return trial;
  }
};

Decision decided(MadeUp& times, std::vector<std::size_t> tried) {
  return decide(tried, 7, [&](std::size_t plan, std::uint64_t seed) { return times(plan, seed); }).value();
}

TEST(DecideTest, AWinnerIsClaimedAndConfirmedWithAnotherSeed) {
  MadeUp times{{1, 0.8, 0.7}};
  const Decision decision = decided(times, {2, 1});
  EXPECT_EQ(decision.winner, 2u);
  ASSERT_EQ(decision.trials.size(), 2u);
  EXPECT_FALSE(decision.trials[0].confirms);
  EXPECT_TRUE(decision.trials[1].confirms);
  EXPECT_NE(decision.trials[0].seed, decision.trials[1].seed);
  EXPECT_EQ(decision.trials[1].seed, times.asked[1].second);
  EXPECT_NEAR(decision.trials[1].verdict.ratio, 0.7, 0.01);
}

TEST(DecideTest, WhatNoiseHidesIsNotClaimed) {
  MadeUp times{{1, 0.995}, 0.1};
  const Decision decision = decided(times, {1});
  EXPECT_FALSE(decision.winner);
  EXPECT_EQ(decision.trials.size(), 1u);
}

TEST(DecideTest, ASlowerPlanIsNotClaimedWhateverTheScreeningSaid) {
  MadeUp times{{1, 1.3, 1}};
  const Decision decision = decided(times, {1, 2});
  EXPECT_FALSE(decision.winner);
  ASSERT_EQ(decision.trials.size(), 2u);
  EXPECT_EQ(decision.trials[0].verdict.claim, Claim::slower);
  EXPECT_EQ(decision.trials[1].plan, 2u);
}

TEST(DecideTest, AClaimThatIsNotConfirmedIsDroppedAndTheNextIsTried) {
  MadeUp times{{1, 0.9, 0.9}, 0.001, {1}};
  const Decision decision = decided(times, {2, 1});
  EXPECT_EQ(decision.winner, 1u);
  ASSERT_EQ(decision.trials.size(), 4u);
  EXPECT_EQ(decision.trials[0].verdict.claim, Claim::faster);
  EXPECT_TRUE(decision.trials[1].confirms);
  EXPECT_NE(decision.trials[1].verdict.claim, Claim::faster);
  EXPECT_EQ(decision.trials[2].plan, 1u);
  MadeUp never{{1, 0.9}, 0.001, {1}};
  EXPECT_FALSE(decided(never, {1}).winner);
}

TEST(DecideTest, NoFinalistsKeepTheStandardPlan) {
  MadeUp times{{1}};
  const Decision decision = decided(times, {});
  EXPECT_FALSE(decision.winner);
  EXPECT_TRUE(decision.trials.empty());
}

TEST(DecideTest, AComparisonThatFailsEndsIt) {
  const Result<Decision> decision = decide(std::vector<std::size_t>{1, 2}, 1, [](std::size_t, std::uint64_t) {
    return Result<Trial>(Diagnostic{Code::output_wrong, "wrong", "", ""});
  });
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.error().code, Code::output_wrong);
}

}  // namespace
}  // namespace lanefold::bench
