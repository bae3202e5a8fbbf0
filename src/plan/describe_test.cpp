#include "plan/describe.h"

#include <gtest/gtest.h>

namespace lanefold::plan {
namespace {

TEST(Describe, LayoutsAsFactorsOfTheirOwners) {
  EXPECT_EQ(layout_text({}), "one lane a row");
  EXPECT_EQ(layout_text({{Owner::lane, Owner::lane, Owner::lane, Owner::reg, Owner::pass}, 1}),
            "lane 8 · reg 2 · pass 2");
  EXPECT_EQ(layout_text({{Owner::component, Owner::lane, Owner::reg, Owner::lane}, 4}),
            "component 2 · lane 2 · reg 2 · lane 2, 4 rows a SIMD group");
}

TEST(Describe, OneLineSaysTheChoice) {
  Plan plan;
  plan.target = "cpu-avx2";
  plan.layout.bits = {Owner::lane, Owner::lane, Owner::lane};
  EXPECT_EQ(plan_line(plan), "cpu-avx2, canonical order, V = 32, layout lane 8, 8 threads for 1 row, stripe: reload");
}

}  // namespace
}  // namespace lanefold::plan
