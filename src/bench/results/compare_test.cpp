#include "bench/results/compare.h"

#include <gtest/gtest.h>

#include "bench/results/ratios.h"

namespace lanefold::bench {
namespace {

ArmRecord arm(const std::string& role, double us, double step = 0.001) {
  ArmRecord made;
  made.role = role;
  for (int i = 0; i < 11; ++i) made.wall_us.push_back(us * (1 + step * ((i * 7) % 11)));
  return made;
}

CaseRecord timed(const std::string& id, double us, double copy_us, double step = 0.001) {
  CaseRecord record;
  record.id = id;
  record.bytes_read = 4000;
  record.bytes_written = 4000;
  record.arms = {arm("subject", us, step), arm("ceiling", copy_us)};
  return record;
}

Results bench_of(std::vector<CaseRecord> cases) {
  Results results;
  results.kind = "bench";
  results.complete = true;
  results.cases = std::move(cases);
  return results;
}

TEST(CompareTest, FindsWhatBecameSlowerAndFaster) {
  const ResultsChange change =
      compare_results(bench_of({timed("a", 10, 5), timed("b", 10, 5), timed("c", 10, 5)}),
                      bench_of({timed("a", 11, 5), timed("b", 9, 5), timed("c", 10.2, 5)}), 1.05)
          .value();
  ASSERT_EQ(change.cases.size(), 3u);
  EXPECT_EQ(change.cases[0].claim, Claim::slower);
  EXPECT_NEAR(change.cases[0].ratio, 1.1, 1e-9);
  EXPECT_EQ(change.cases[1].claim, Claim::faster);
  EXPECT_EQ(change.cases[2].claim, Claim::no_difference_shown);  // two percent are less than five
  EXPECT_LT(change.cases[2].probability, 0.01);
  EXPECT_TRUE(change.regressed());
}

TEST(CompareTest, AMachineThatIsSlowerAsAWholeIsNoRegression) {
  const ResultsChange change =
      compare_results(bench_of({timed("a", 10, 5)}), bench_of({timed("a", 12, 6)}), 1.05).value();
  EXPECT_EQ(change.cases[0].claim, Claim::no_difference_shown);
  EXPECT_NEAR(change.cases[0].of_copy, 1, 1e-9);
  EXPECT_FALSE(change.regressed());
}

TEST(CompareTest, WideSamplesShowNothing) {
  const ResultsChange change =
      compare_results(bench_of({timed("a", 10, 5, 0.2)}), bench_of({timed("a", 10.7, 5, 0.2)}), 1.05).value();
  EXPECT_EQ(change.cases[0].claim, Claim::no_difference_shown);
  EXPECT_GT(change.cases[0].probability, 0.01);
}

TEST(CompareTest, FewSamplesAreSaidToBeTooFew) {
  Results before = bench_of({timed("a", 10, 5)}), now = bench_of({timed("a", 1000, 5)});
  for (Results* run : {&before, &now}) run->cases[0].arms[0].wall_us.resize(4);
  EXPECT_FALSE(compare_results(before, now, 1.05).value().cases[0].enough);  // 2 of 70 orders
  for (Results* run : {&before, &now}) run->cases[0].arms[0] = arm("subject", run == &now ? 1000 : 10);
  EXPECT_TRUE(compare_results(before, now, 1.05).value().cases[0].enough);
}

TEST(CompareTest, APartialRunIsTold) {
  Results now = bench_of({timed("a", 10, 5)});
  now.complete = false;
  const ResultsChange change = compare_results(bench_of({timed("a", 10, 5)}), now, 1.05).value();
  ASSERT_EQ(change.differences.size(), 1u);
  EXPECT_NE(change.differences[0].find("new run"), std::string::npos);
}

TEST(CompareTest, ACaseThatFailsNowIsARegression) {
  Results now = bench_of({timed("a", 10, 5), timed("b", 10, 5)});
  now.cases[1].failure = Failure{};
  const ResultsChange change = compare_results(bench_of({timed("a", 10, 5), timed("b", 10, 5)}), now, 1.05).value();
  EXPECT_EQ(change.failed_now, std::vector<std::string>{"b"});
  EXPECT_TRUE(change.regressed());
}

TEST(CompareTest, CasesOfOneSideAndOtherMachinesAreTold) {
  Results now = bench_of({timed("a", 10, 5), timed("new", 10, 5)});
  now.environment.target = "cpu-avx512";
  const ResultsChange change = compare_results(bench_of({timed("a", 10, 5), timed("old", 10, 5)}), now, 1.05).value();
  EXPECT_EQ(change.only_new, std::vector<std::string>{"new"});
  EXPECT_EQ(change.only_old, std::vector<std::string>{"old"});
  ASSERT_EQ(change.differences.size(), 1u);
  EXPECT_EQ(change.differences[0], "target: unknown, now cpu-avx512");
}

TEST(CompareTest, Refusals) {
  EXPECT_EQ(compare_results(bench_of({timed("a", 1, 1)}), bench_of({timed("b", 1, 1)}), 1.05).error().code,
            Code::nothing_in_common);
  Results pairs;
  pairs.kind = "ab";
  EXPECT_EQ(compare_results(pairs, bench_of({}), 1.05).error().code, Code::results_kind);
}

TEST(RatiosTest, AreTakenRoundByRound) {
  ArmRecord a, b;
  a.wall_us = {1, 2, 30};
  b.wall_us = {2, 2, 10, 7};
  EXPECT_EQ(same_round_ratios(a, b), (std::vector<double>{0.5, 1, 3}));
  const RatioSpread spread = ratio_spread(same_round_ratios(a, b));
  EXPECT_EQ(spread.median, 1);
  EXPECT_NEAR(spread.low, 0.6, 1e-12);
  EXPECT_NEAR(spread.high, 2.6, 1e-12);
}

}  // namespace
}  // namespace lanefold::bench
