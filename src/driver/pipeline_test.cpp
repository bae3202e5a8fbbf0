#include "driver/pipeline.h"

#include <gtest/gtest.h>

#include "kernels/registry.h"

namespace lanefold::driver {
namespace {

ir::Program program(std::string_view name) { return *kernels::build(*kernels::find(name), ElementType::f32); }

TEST(Pipeline, LowersWhatItPlans) {
  plan::Request request;
  request.rows = 4;
  request.cols = 1000;
  const auto made = lower_program(program("softmax"), *target::find("cpu-sse"), request);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->plan.cols, 1000);
  EXPECT_EQ(made->module.kernels.at(0).simd_width, 4u);
  EXPECT_EQ(barrier_sites(made->module.kernels[0]), 0u);
  std::vector<std::string> phases;
  for (const PhaseTime& time : made->times) {
    phases.push_back(time.phase);
    EXPECT_GE(time.microseconds, 0);
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"plan", "lower", "verify"}));
}

TEST(Pipeline, CooperatingGroupsMeetAtBarriers) {
  plan::Request request;
  request.cols = 4096;
  request.simd_groups = 4;
  const auto made = lower_program(program("softmax"), *target::find("generic-32"), request);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->module.kernels[0].simd_groups, 4u);
  EXPECT_GE(barrier_sites(made->module.kernels[0]), made->plan.barriers);
  EXPECT_GE(made->plan.barriers, 2u);
}

TEST(Pipeline, AGivenPlanIsCheckedAndUsed) {
  plan::Request request;
  request.cols = 1000;
  const target::Target& target = target::host();
  plan::Plan plan = *plan::choose(program("sum"), target, request);
  const auto again = lower_program(program("sum"), target, request, plan);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(plan::to_json(again->plan), plan::to_json(plan));
  const auto other = lower_program(program("max"), target, request, plan);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::plan_for_other_program);
  request.cols = 100000;
  const auto wide = lower_program(program("sum"), target, request, plan);
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.error().code, Code::cols_outside_width_class);
}

}  // namespace
}  // namespace lanefold::driver
