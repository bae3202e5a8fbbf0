#include "lower/lower.h"

#include <gtest/gtest.h>

namespace lanefold::lower {
namespace {

ir::Program softmax() {
  return *ir::parse(
      "program softmax(x: f32[rows, cols])\n"
      "  m = fold max x\n"
      "  e = exp(x - m)\n"
      "  store y: f32[rows, cols] = e * (1 / fold sum e)\n");
}

plan::Plan planned(const ir::Program& program, std::int64_t cols, std::string_view target = "cpu-avx2") {
  plan::Request request;
  request.cols = cols;
  return *plan::choose(program, *target::find(target), request);
}

bool any_streaming(const std::vector<lane::Statement>& block) {
  for (const lane::Statement& s : block)
    if (s.streaming || any_streaming(s.body) || any_streaming(s.otherwise)) return true;
  return false;
}

TEST(Lower, ClusterLayoutsAreRefused) {
  plan::Plan plan = planned(softmax(), 1000, "generic-32");
  plan.layout.bits.back() = plan::Owner::cluster;
  plan.stripe = plan::Stripe::reload;
  const auto module = lower(softmax(), plan);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::cluster_layout_unsupported);
  EXPECT_FALSE(module.error().hint.empty());
}

TEST(Lower, ARegisterStripeNeedsOnePass) {
  plan::Plan passes = planned(softmax(), 1000);
  passes.stripe = plan::Stripe::registers;
  passes.layout.bits.push_back(plan::Owner::pass);
  plan::Plan segments = planned(softmax(), 40000);
  segments.stripe = plan::Stripe::registers;
  ASSERT_TRUE(segments.width.segmented);
  for (const plan::Plan& plan : {passes, segments}) {
    const auto module = lower(softmax(), plan);
    ASSERT_FALSE(module.ok());
    EXPECT_EQ(module.error().code, Code::stripe_needs_one_pass);
  }
}

TEST(Lower, ArgumentsComeInTheirOrder) {
  const ir::Program p = *ir::parse(
      "program p(x: f32[rows, cols], w: f16[cols], b: f32[rows], eps = 1)\n"
      "  store y: bf16[rows, cols] = x * w + b + eps\n"
      "  store s: f32[rows] = fold sum x\n");
  using lane::Role;
  const auto roles = [&](const Access& access) {
    const auto module = lower(p, planned(p, 100), access);
    EXPECT_TRUE(module.ok());
    EXPECT_TRUE(lane::verify(*module).empty());
    std::vector<Role> all;
    for (const lane::Argument& argument : module->kernels.at(0).arguments) all.push_back(argument.role);
    return all;
  };
  EXPECT_EQ(roles({}), (std::vector<Role>{Role::input, Role::input_row_stride, Role::input, Role::input,
                                          Role::input_row_stride, Role::output, Role::output_row_stride, Role::output,
                                          Role::output_row_stride, Role::rows, Role::cols, Role::parameter}));
  const Access strided{.strided_inputs = {true, true, false}, .strided_outputs = {true, false}, .streaming = false};
  EXPECT_EQ(roles(strided),
            (std::vector<Role>{Role::input, Role::input_row_stride, Role::input_column_stride, Role::input,
                               Role::input_column_stride, Role::input, Role::input_row_stride, Role::output,
                               Role::output_row_stride, Role::output_column_stride, Role::output,
                               Role::output_row_stride, Role::rows, Role::cols, Role::parameter}));
}

TEST(Lower, OnlyAnAskedForModuleStreams) {
  const plan::Plan plan = planned(softmax(), 4096);
  for (const bool streaming : {false, true}) {
    const auto module = lower(softmax(), plan, {.strided_inputs = {}, .strided_outputs = {}, .streaming = streaming});
    ASSERT_TRUE(module.ok());
    EXPECT_EQ(any_streaming(module->kernels[0].body), streaming);
  }
}

}  // namespace
}  // namespace lanefold::lower
