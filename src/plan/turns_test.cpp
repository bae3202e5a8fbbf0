#include "plan/turns.h"

#include "plan/test_programs.h"

namespace lanefold::plan {
namespace {

const target::Target kTarget = *target::find("cpu-avx2");

Plan planned(int vectors, std::int64_t rows, std::int64_t cols) {
  Request r;
  r.rows = rows;
  r.cols = cols;
  const auto plan = choose(products_program(vectors), kTarget, r);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().text());
  return plan.ok() ? *plan : Plan{};
}

TEST(Turns, SeveralVectorsTakeRowsInTurnWhereThereAreRowsEnough) {
  EXPECT_EQ(rows_in_turn(planned(8, 2560, 10240)), 32u);
  EXPECT_EQ(rows_in_turn(planned(8, 31, 10240)), 1u);
  EXPECT_EQ(rows_in_turn(planned(1, 2560, 10240)), 1u);
  // Segments and vectors that fill more than the lanes of one SIMD group keep to rows of their own.
  EXPECT_EQ(rows_in_turn(planned(8, 2560, 40000)), 1u);
  EXPECT_EQ(rows_in_turn(planned(9, 2560, 10240)), 1u);
}

TEST(Turns, ThePlanIsConsistentAndGoesThroughJson) {
  const Plan plan = planned(8, 100, 5000);
  ASSERT_EQ(rows_in_turn(plan), 32u);
  EXPECT_EQ(plan.threads, plan.simd_width);
  EXPECT_TRUE(check(plan, products_program(8), kTarget, 5000).ok());
  const auto again = from_json(to_json(plan));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(rows_in_turn(*again), 32u);
  EXPECT_TRUE(check(*again, products_program(8), kTarget, 5000).ok());
}

TEST(Turns, OnlyJoinedFoldsMayTakeThem) {
  Plan plan = planned(1, 100, 5000);
  plan.rows_per_threadgroup = 32;
  const Status status = check(plan, products_program(1), kTarget, 5000);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::plan_inconsistent);
}

}  // namespace
}  // namespace lanefold::plan
