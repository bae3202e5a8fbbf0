#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "machine/arithmetic.h"
#include "machine/test_symbols.h"

namespace lanefold::machine {
namespace {

using lane::Op;
using enum ElementType;
using MachineSymbolsRandom = MachineSymbols;

/// A random expression as a recipe: how each step is made from earlier ones.
struct Step {
  Op op;
  std::array<std::size_t, 3> from;
};

std::vector<Step> random_recipe(std::mt19937& random, std::size_t leaves, std::size_t steps) {
  const std::vector<Op> all{Op::add, Op::add, Op::mul, Op::mul, Op::fma,  Op::max,   Op::max,           Op::min,
                            Op::sub, Op::div, Op::neg, Op::abs, Op::sqrt, Op::trunc, Op::canonical_nan, Op::select};
  std::vector<Step> recipe;
  for (std::size_t n = 0; n < steps; ++n) {
    Step step{all[random() % all.size()], {}};
    for (std::size_t& from : step.from) from = random() % (leaves + n);
    recipe.push_back(step);
  }
  return recipe;
}

/// Leaves: inputs, and constants among which are the neutral ones.
const std::array<float, 6> kConstants{-0.0f, 0.0f, 1.0f, -1.0f, 2.5f, kInf};
constexpr std::size_t kInputs = 8;

TEST_F(MachineSymbolsRandom, RandomExpressionsMeetWhereOnlyOrderDiffers) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    const std::vector<Step> recipe = random_recipe(random, kInputs + kConstants.size(), 200);
    const auto build = [&](bool swapping) {
      std::vector<NodeId> made;
      for (std::size_t n = 0; n < kInputs; ++n) made.push_back(in(static_cast<std::int64_t>(n)));
      for (const float constant : kConstants) made.push_back(real(constant));
      for (const Step& step : recipe) {
        std::array<NodeId, 3> operands{made[step.from[0]], made[step.from[1]], made[step.from[2]]};
        if (step.op == Op::select) operands[0] = f(Op::lt, {operands[0], operands[1]});
        const bool commutes =
            step.op == Op::add || step.op == Op::mul || step.op == Op::fma || step.op == Op::max || step.op == Op::min;
        if (swapping && commutes && random() % 2 == 0) std::swap(operands[0], operands[1]);
        made.push_back(
            s.apply(step.op, f32, std::span(operands).first(static_cast<std::size_t>(lane::op_operands(step.op)))));
      }
      return made;
    };
    const std::vector<NodeId> straight = build(false);
    EXPECT_EQ(straight, build(true)) << "seed " << seed;
  }
}

TEST_F(MachineSymbolsRandom, OneNodeHasOneValue) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  constexpr std::uint32_t kLanes = 64;
  using Lanes = std::array<Word, kLanes>;
  std::vector<Lanes> inputs(kInputs);
  for (Lanes& lanes : inputs) {
    for (Word& word : lanes) {
      // Small numbers, specials, and any bits at all, signalling NaNs among them.
      const std::array<Word, 8> choices{
          random(),      random(),    to_word(static_cast<float>(random() % 9) - 4.0f), 0, 0x80000000u,
          to_word(kInf), 0x7f800001u, to_word(static_cast<float>(random() % 1000) / 7)};
      word = choices[random() % choices.size()];
    }
  }
  std::vector<Lanes> value_of;  // by node
  std::vector<bool> has_value;
  std::size_t met = 0;
  for (int round = 0; round < 300; ++round) {
    // Few leaves and short recipes, so that different trees often meet in one node.
    std::vector<NodeId> made;
    std::vector<Lanes> values;
    const auto note = [&](NodeId node, const Lanes& lanes) {
      if (node >= has_value.size()) {
        has_value.resize(node + 1);
        value_of.resize(node + 1);
      }
      if (has_value[node]) {
        for (std::uint32_t k = 0; k < kLanes; ++k) {
          const bool differs = lanes[k] != value_of[node][k];
          // Another NaN will do, where the node says so.
          if (differs && is_nan(lanes[k]) && is_nan(value_of[node][k])) {
            ASSERT_TRUE(s.payload_may_differ(node)) << s.text(node, 6) << " seed " << seed;
          } else {
            ASSERT_FALSE(differs) << s.text(node, 6) << " seed " << seed;
          }
        }
        ++met;
      }
      has_value[node] = true;
      value_of[node] = lanes;
      made.push_back(node);
      values.push_back(lanes);
    };
    for (std::size_t n = 0; n < kInputs; ++n) note(in(static_cast<std::int64_t>(n)), inputs[n]);
    for (const float constant : kConstants) {
      Lanes lanes;
      lanes.fill(to_word(constant));
      note(real(constant), lanes);
    }
    for (const Step& step : random_recipe(random, made.size(), 60)) {
      std::array<NodeId, 3> operands{made[step.from[0]], made[step.from[1]], made[step.from[2]]};
      std::array<Lanes, 3> lanes{values[step.from[0]], values[step.from[1]], values[step.from[2]]};
      const auto run = [&](Op op) {
        Lanes out{};
        compute(op, f32,
                {.width = kLanes,
                 .mask = all_lanes(kLanes),
                 .a = lanes[0].data(),
                 .b = lanes[1].data(),
                 .c = lanes[2].data(),
                 .out = out.data()});
        return out;
      };
      if (step.op == Op::select) {
        operands[0] = f(Op::lt, {operands[0], operands[1]});
        lanes[0] = run(Op::lt);
      }
      note(s.apply(step.op, f32, std::span(operands).first(static_cast<std::size_t>(lane::op_operands(step.op)))),
           run(step.op));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(met, 1000u);
}

}  // namespace
}  // namespace lanefold::machine
