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

TEST(Lower, WhatStoresReadIsLoadedBeforeThreadgroupsExchange) {
  const ir::Program p = *ir::parse(
      "program p(x: f32[rows, cols], w: f32[cols])\n"
      "  store y: f32[rows, cols] = x / fold sum x * w\n");
  plan::Request request;
  request.rows = 2048;
  request.cols = 131072;
  request.alignment = 4;
  plan::Plan plan = *plan::choose(p, *target::find("cuda-sm90"), request);
  plan.early_loads = false;
  ASSERT_GT(plan.cluster, 1u);
  const auto module = lower(p, plan);
  ASSERT_TRUE(module.ok());
  const lane::Kernel& kernel = module->kernels.at(0);
  std::vector<std::string> order;  // of loads of w, the exchange and stores, each once for several in turn
  const auto add = [&](const std::string& what) {
    if (order.empty() || order.back() != what) order.push_back(what);
  };
  for (const lane::Statement& s : kernel.body) {
    if (s.op == lane::Op::load && kernel.arguments[s.a].name == "w") add("load");
    if (s.op == lane::Op::exchange) add("exchange");
    if (s.op == lane::Op::store) add("store");
  }
  ASSERT_GE(order.size(), 6u);
  order.resize(6);
  EXPECT_EQ(order, (std::vector<std::string>{"load", "exchange", "load", "store", "load", "store"}));
}

TEST(Lower, ScalesOfSeveralBlocksAreOneStore) {
  const ir::Program p = *ir::parse(
      "program p(x: f32[rows, cols])\n"
      "  s = fold<32> max abs(x)\n"
      "  store y: f32[rows, cols] = x / s\n"
      "  store scale: f32[rows, cols/32] = s\n");
  plan::Request request;
  request.rows = 4096;
  request.cols = 8192;
  request.alignment = 8;
  const plan::Plan plan = *plan::choose(p, *target::find("cuda-sm90"), request);
  ASSERT_EQ(plan.stripe, plan::Stripe::registers);
  const auto module = lower(p, plan);
  ASSERT_TRUE(module.ok());
  const lane::Kernel& kernel = module->kernels.at(0);
  std::size_t scales = 0;
  for (const lane::Statement& s : kernel.body)
    for (const lane::Statement& guarded : s.body)
      if (guarded.op == lane::Op::store && kernel.arguments[guarded.a].name == "scale") ++scales;
  // A worker has parts of so many blocks.
  std::size_t components = 1;
  for (const plan::Owner owner : plan.layout.bits) components <<= owner == plan::Owner::component ? 1 : 0;
  const std::size_t blocks = static_cast<std::size_t>(plan.width.max_cols) / (plan.threads * components);
  EXPECT_GT(scales, 0u);
  EXPECT_LE(scales, blocks / 2);
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
