#include "bench/replay.h"

#include <gtest/gtest.h>

#include "bench/test_requests.h"

namespace lanefold::bench {
namespace {

TEST(ReplayTest, RoundsGiveEveryArmEveryTurnEquallyOften) {
  EXPECT_EQ(even_rounds(12, 2), 12);
  EXPECT_EQ(even_rounds(11, 2), 12);
  EXPECT_EQ(even_rounds(1, 2), 2);
  EXPECT_EQ(even_rounds(12, 3), 12);
  EXPECT_EQ(even_rounds(13, 3), 18);
  EXPECT_EQ(even_rounds(10, 4), 12);
  EXPECT_EQ(even_rounds(10, 5), 10);
  EXPECT_EQ(even_rounds(11, 5), 20);
}

#if LANEFOLD_JIT
CaseRecord ran(const std::string& kernel, ir::Order order, std::int64_t rows, std::int64_t cols) {
  CaseRequest request = case_for(kernel, rows, cols);
  request.subject.instance.options.order = order;
  std::unique_ptr<Subject> subject;
  return prepare_case(request, {}, subject).value();
}

TEST(ReplayTest, AnOnlyPlanMeetsTodaysChoice) {
  Results old;
  old.cases = {ran("sum", ir::Order::canonical, 3, 500)};
  const auto groups = replay_groups(old, verify::DeviceOptions{}, "old").value();
  ASSERT_EQ(groups.size(), 1u);
  ASSERT_EQ(groups[0].arms.size(), 2u);
  EXPECT_EQ(groups[0].arms[1].instance.options.threads, 1u);  // as it was measured
  const ReplayRecord record = replay_group(groups[0], brief_protocol(), 3);
  ASSERT_FALSE(record.failure) << record.failure->message;
  EXPECT_EQ(record.rounds, 4);
  EXPECT_EQ(record.arms[0].name, "planned now, the same plan");
  for (const ReplayArm& arm : record.arms) {
    EXPECT_EQ(arm.wall_us.size(), 4u);
    EXPECT_LE(arm.ratio_least, arm.ratio_median);
    EXPECT_LE(arm.ratio_median, arm.ratio_greatest);
  }
  EXPECT_EQ(record.arms[0].ratio_least, 1);
  EXPECT_EQ(record.arms[0].ratio_greatest, 1);
}

TEST(ReplayTest, WhatAKernelWasBuiltForIsBuiltAgain) {
  CaseRequest request = case_for("matvec", 3, 256);
  request.subject.instance.build.tokens = 2;
  request.subject.instance.build.weights = "q8_0";
  std::unique_ptr<Subject> subject;
  Results old;
  old.cases = {prepare_case(request, {}, subject).value()};
  ASSERT_TRUE(old.cases[0].ok());
  EXPECT_EQ(old.cases[0].made_for, "3 rows of 256 columns, tokens 2, weights q8_0");
  EXPECT_EQ(old.cases[0].id, "matvec 3x256 f32 canonical, tokens 2, weights q8_0, cpu, 1 thread");
  const auto groups = replay_groups(old, verify::DeviceOptions{}, "old").value();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].arms[0].instance.build.tokens, 2u);
  const ReplayRecord record = replay_group(groups[0], brief_protocol(), 2);
  EXPECT_FALSE(record.failure) << record.failure->message;
  old.cases[0].made_for += ", in a hurry";
  EXPECT_EQ(replay_groups(old, verify::DeviceOptions{}, "old").error().code, Code::results_malformed);
}

TEST(ReplayTest, PlansForOneShapeMeetEachOther) {
  Results old;
  old.cases = {ran("softmax", ir::Order::canonical, 3, 500), ran("softmax:serial", ir::Order::serial, 3, 500),
               ran("softmax", ir::Order::canonical, 3, 500), ran("softmax", ir::Order::canonical, 3, 600)};
  const auto groups = replay_groups(old, verify::DeviceOptions{}, "old").value();
  ASSERT_EQ(groups.size(), 2u);
  ASSERT_EQ(groups[0].arms.size(), 2u);  // the third case has the plan of the first
  EXPECT_EQ(groups[0].names[0], "softmax 3x500 f32 canonical, cpu, 1 thread");
  const ReplayRecord record = replay_group(groups[0], brief_protocol(), 2);
  ASSERT_FALSE(record.failure) << record.failure->message;
  EXPECT_NE(record.arms[0].plan, record.arms[1].plan);
  EXPECT_EQ(record.arms[0].plan, old.cases[0].plan);
  EXPECT_EQ(record.arms[1].plan, old.cases[1].plan);
}

TEST(ReplayTest, APlanThatNoLongerFitsIsAFailure) {
  Results old;
  old.cases = {ran("sum", ir::Order::canonical, 3, 500)};
  old.cases[0].kernel = "max";
  const auto groups = replay_groups(old, verify::DeviceOptions{}, "old").value();
  const ReplayRecord record = replay_group(groups[0], brief_protocol(), 2);
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->name, code_name(Code::plan_for_other_program));
}

TEST(ReplayTest, ABareModuleIsReplayedAsOne) {
  CaseRequest request = case_for("sum", 1, 1);
  request.subject.as_module = true;
  std::unique_ptr<Subject> subject;
  Results old;
  old.cases = {prepare_case(request, {}, subject).value(), ran("sum", ir::Order::canonical, 1, 1)};
  const auto groups = replay_groups(old, verify::DeviceOptions{}, "old").value();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_TRUE(groups[0].arms[1].as_module);
  EXPECT_FALSE(groups[1].arms[1].as_module);
}

TEST(ReplayTest, AbsurdNumbersAreRefused) {
  Results old;
  old.cases = {ran("sum", ir::Order::canonical, 3, 500)};
  old.cases[0].threads = 4'000'000'000;
  EXPECT_EQ(replay_groups(old, {}, "old").error().code, Code::results_malformed);
  old.cases[0].threads = 1;
  old.cases[0].launches = std::int64_t{1} << 60;
  EXPECT_EQ(replay_groups(old, {}, "old").error().code, Code::results_malformed);
}

TEST(ReplayTest, NothingToReplay) {
  Results old;
  EXPECT_EQ(replay_groups(old, {}, "old").error().code, Code::nothing_to_replay);
  old.cases = {ran("sum", ir::Order::canonical, 3, 500)};
  old.cases[0].failure = Failure{};
  EXPECT_EQ(replay_groups(old, {}, "old").error().code, Code::nothing_to_replay);
}
#endif

}  // namespace
}  // namespace lanefold::bench
