// Which sums of exponentials a free order may fold together with the maximum that shifts them.
#include "plan/shifted_sum.h"

#include "plan/test_programs.h"

namespace lanefold::plan {
namespace {

std::vector<ShiftedSum> found_in(const std::string& body) {
  return shifted_sums(parsed("program p(x: f32[rows, cols])\n" + body));
}

TEST(ShiftedSums, ASumThatNothingElseLooksInto) {
  const auto found = found_in("  m = fold max x\n  store y: f32[rows] = m + log(fold sum exp(x - m))\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].max, found[0].sum);
}

TEST(ShiftedSums, OneOfTwoThatShareAMaximum) {
  EXPECT_EQ(found_in("  m = fold max x\n  store y: f32[rows] = fold sum exp(x - m)\n"
                     "  store z: f32[rows] = fold sum exp(x - m)\n")
                .size(),
            1u);
}

TEST(ShiftedSums, NotWhereTheExponentialsOrDifferencesAreNeeded) {
  EXPECT_TRUE(shifted_sums(softmax_program()).empty());
  EXPECT_TRUE(found_in("  m = fold max x\n  d = x - m\n  store y: f32[rows, cols] = d\n"
                       "  store z: f32[rows] = fold sum exp(d)\n")
                  .empty());
}

TEST(ShiftedSums, NotByAnotherMaximum) {
  EXPECT_TRUE(found_in("  m = fold max abs(x)\n  store y: f32[rows] = fold sum exp(x - m)\n").empty());
  EXPECT_TRUE(found_in("  m = fold min x\n  store y: f32[rows] = fold sum exp(x - m)\n").empty());
  EXPECT_TRUE(found_in("  m = fold max x\n  store y: f32[rows] = fold max exp(x - m)\n").empty());
  EXPECT_TRUE(found_in("  m = fold<32> max x\n  store y: f32[rows] = fold sum exp(x - m)\n").empty());
}

}  // namespace
}  // namespace lanefold::plan
