#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ir/parameters.h"
#include "ir/program.h"

namespace lanefold::ir {
namespace {

/// The text of the program that is left.
std::string left(std::string_view text, const Known& known = {}) {
  const Result<Program> program = parse(text);
  if (!program) return program.error().text();
  const Result<Program> less = specialise(*program, known);
  if (!less) return less.error().text();
  EXPECT_TRUE(verify(*less).empty());
  return print(*less);
}

TEST(Specialise, ConstantsStandIn) {
  EXPECT_EQ(left(R"(
monoid plus(a: f32) of (x: f32)
  lift = x
  merge = a + a'
program p(x: f32[rows, cols], w: f32[cols] = 2, l: i32[rows] = 0, eps = 1)
  s = fold plus (x * w)
  store y: f32[rows, cols] = x * s + eps + gather(w, l)
)",
                 {.absent = {"w", "l"}}),
            print(*parse(R"(
monoid plus(a: f32) of (x: f32)
  lift = x
  merge = a + a'
program p(x: f32[rows, cols], eps = 1)
  s = fold plus (x * 2)
  store y: f32[rows, cols] = x * s + eps + select(i32(0) < cols, 2, nan)
)")));
}

TEST(Specialise, WhatHasNoEffectGoes) {
  const std::string text = R"(
program p(x: f32[rows, cols], w: f32[cols] = 1, b: f32[cols] = -0.0, s: option = 1, z: option = 0)
  store y: f32[rows, cols] = x * w * s / s + b - z
)";
  EXPECT_EQ(left(text, {.absent = {"w", "b"}}), "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = x\n");
  // +0 is no neutral number: −0 + 0 is +0.
  EXPECT_EQ(left(text, {.absent = {"w", "b"}, .options = {{"z", -0.0}}}),
            "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = x - -0.0\n");
}

TEST(Specialise, KindsShrink) {
  const Program program = *parse(R"(
program p(w: f32[cols] = 2, x: f32[rows], i: i8[rows, cols] = -1)
  n = w * x
  store y: f32[rows, cols] = n + i
)");
  const Program less = specialise(program, {.absent = {"w"}}).value();
  EXPECT_EQ(print(less),
            "program p(x: f32[rows], i: i8[rows, cols] = -1)\n  n = 2 * x\n  store y: f32[rows, cols] = n + f32(i)\n");
  for (const Value& value : less.values) {
    EXPECT_EQ(value.kind == (Kind{Kind::Tag::row, 0}),
              value.name == "n" || (value.op == Op::input && value.index == 0));
  }
  EXPECT_EQ(print(specialise(program, {}).value()), print(program));
}

constexpr std::string_view kCapped = R"(
program p(x: f32[rows, cols], cap: option = 0, k = 3)
  c = select(cap > 0, cap * tanh(x / cap), x)
  m = fold max c
  store y: f32[rows, cols] = k * (c - m)
)";

TEST(Specialise, OptionsDecideBranches) {
  EXPECT_EQ(left(kCapped), R"(program p(x: f32[rows, cols], k = 3)
  m = fold max(x)
  store y: f32[rows, cols] = k * (x - m)
)");
  EXPECT_EQ(left(kCapped, {.options = {{"cap", 30}}}), R"(program p(x: f32[rows, cols], k = 3)
  c = 30 * tanh(x / 30)
  m = fold max(c)
  store y: f32[rows, cols] = k * (c - m)
)");
  // Any parameter can be fixed.
  EXPECT_EQ(left(kCapped, {.options = {{"k", 1}}}), R"(program p(x: f32[rows, cols])
  m = fold max(x)
  store y: f32[rows, cols] = x - m
)");
}

TEST(Specialise, FoldsThatNothingNeedsGo) {
  EXPECT_EQ(left(R"(
program p(x: f32[rows, cols], mean: option = 0)
  s = fold sum x
  q = fold dot(x, x)
  store y: f32[rows] = select(mean != 0 and true, s / cols, q)
)"),
            "program p(x: f32[rows, cols])\n  q = fold dot(x, x)\n  store y: f32[rows] = q\n");
}

TEST(Specialise, ConstantsAreFoldedAsTheyWouldBeComputed) {
  EXPECT_EQ(left(R"(
program p(x: f32[rows, cols], a: option = 0.1, b: option = 3)
  store y: f32[rows, cols] = x + (a * b - a / b)
)"),
            "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = x + 0.26666668\n");
  EXPECT_EQ(left(R"(
program p(x: f32[rows, cols], a: option = 0)
  store y: f32[rows, cols] = x + 1 / a
)"),
            "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = x + inf\n");
}

TEST(Specialise, RefusesWhatItCannotDo) {
  const Program program = *parse("program p(x: f32[rows, cols], w: f32[cols] = 1)\n store y: f32[rows, cols] = x * w");
  const Result<Program> needed = specialise(program, {.absent = {"x"}});
  ASSERT_FALSE(needed.ok());
  EXPECT_EQ(needed.error().code, Code::input_required);
  EXPECT_EQ(needed.error().place, "p:1:11");
  const Result<Program> unknown = specialise(program, {.absent = {"bias"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::unknown_name);
  const Program capped = *parse(kCapped);
  EXPECT_EQ(specialise(capped, {.options = {{"cap", 1}, {"k", 2}, {"cap", 2}}}).error().code,
            Code::assignment_repeated);
  const Result<Program> option = specialise(program, {.options = {{"cap", 1}}});
  ASSERT_FALSE(option.ok());
  EXPECT_EQ(option.error().code, Code::unknown_parameter);
}

TEST(Specialise, AFoldAlongRowsThatAnOptionSwitchesOffIsGone) {
  constexpr std::string_view text = R"(
program f(x: f32[rows, cols], w: f32[cols], l: i32[rows], centre: option = 0)
  mean = select(centre > 0, fold[rows] sum (x * gather(w, l)) / rows, 0)
  store y: f32[rows, cols] = x - mean
  store m: f32[cols] = select(centre > 0, fold[rows] max x, w)
)";
  EXPECT_EQ(left(text), R"(program f(x: f32[rows, cols], w: f32[cols], l: i32[rows])
  store y: f32[rows, cols] = x
  store m: f32[cols] = w
)");
  // Switched on, a gather stands below the fold.
  const Result<Program> on = specialise(*parse(text), {.options = {{"centre", 1}}});
  ASSERT_FALSE(on.ok());
  EXPECT_EQ(on.error().code, Code::unsupported_axis);
  EXPECT_EQ(on.error().place, "f:3:49");
  // Without options, the text alone says that it cannot be run.
  const Result<Program> fixed =
      parse("program f(x: f32[rows, cols], l: i32[rows])\n store m: f32[cols] = fold[rows] max gather(x, l)");
  ASSERT_FALSE(fixed.ok());
  EXPECT_EQ(fixed.error().code, Code::unsupported_axis);
}

TEST(Specialise, WhatIsReadAsAWholeNumberIsOne) {
  const Program program = *parse(R"(
program f(x: f32[rows, cols], l: i32[rows], n = -100, k: option = 2, both = 1)
  store y: f32[rows] = select(l == i32(n) or l == i32(k), 0, both + f32(i32(both)))
)");
  EXPECT_EQ(whole_parameters(program), (std::vector<bool>{true, true, false}));
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1.5, 16777217.0, 0x1p31, -0x1p31 - 256}) {
    for (const char* name : {"n", "k"}) {
      const Result<Program> given = specialise(program, {.options = {{name, wrong}}});
      ASSERT_FALSE(given.ok()) << wrong;
      EXPECT_EQ(given.error().code, Code::number_invalid);
      EXPECT_EQ(given.error().place, name);
    }
    EXPECT_TRUE(specialise(program, {.options = {{"both", wrong}}}).ok()) << "read as a float too";
  }
  for (const double right : {0.0, -0.0, -7.0, 16777216.0, -0x1p31})
    EXPECT_TRUE(specialise(program, {.options = {{"k", right}}}).ok()) << right;
}

TEST(InnerAxis, OperationsWorkPlaceByPlace) {
  EXPECT_EQ(left(R"(
program p(w: bf16[rows, cols], x: f32[2][cols], bias: f32[rows])
  d = fold dot(w, x)
  store y: f32[2][rows] = d + bias
)"),
            R"(program p(w: bf16[rows, cols], x_0: f32[cols], x_1: f32[cols], bias: f32[rows])
  d_0 = fold dot(w, x_0)
  d_1 = fold dot(w, x_1)
  store y_0: f32[rows] = d_0 + bias
  store y_1: f32[rows] = d_1 + bias
)");
  const Program program =
      *parse("program p(w: f32[rows, cols], x: f32[3][cols])\n store y: f32[3][rows] = fold dot(w, x)");
  ASSERT_EQ(program.inputs.size(), 4u);
  EXPECT_EQ(program.inputs[2].part.role, Part::Role::inner);
  EXPECT_EQ(program.inputs[2].part.of, "x");
  EXPECT_EQ(program.inputs[2].part.index, 1u);
  EXPECT_EQ(program.inputs[2].part.count, 3u);
  EXPECT_EQ(program.stores[2].part.of, "y");
}

TEST(InnerAxis, LengthsAgree) {
  const auto code = [](std::string_view text) { return parse(text).error().code; };
  EXPECT_EQ(code("program p(a: f32[2][cols], b: f32[3][cols])\n store y: f32[2][rows, cols] = a + b"),
            Code::kind_mismatch);
  EXPECT_EQ(code("program p(x: f32[rows, cols], a: f32[2][cols])\n store y: f32[3][rows] = fold dot(x, a)"),
            Code::kind_mismatch);
  EXPECT_EQ(code("program p(x: f32[rows, cols], a: f32[2][cols])\n store y: f32[rows] = fold dot(x, a)"),
            Code::kind_mismatch);
  // The names of the places are names like others.
  EXPECT_EQ(code("program p(a: f32[2][cols], a_1: f32[cols])\n store y: f32[rows, cols] = a_1"), Code::duplicate_name);
}

TEST(QuantisedBlocks, CodesAndScalesAreInputsOfTheirOwn) {
  EXPECT_EQ(left(R"(
program p(w: q8_0[rows, cols], x: f32[cols])
  store y: f32[rows] = fold dot(w, x)
  store c: i8[rows, cols] = w_codes
  store s: f32[rows, cols/32] = w_scale
)"),
            R"(program p(w_codes: i8[rows, cols], w_scale: f16[rows, cols/32], x: f32[cols])
  store y: f32[rows] = fold dot(f32(w_codes) * w_scale, x)
  store c: i8[rows, cols] = w_codes
  store s: f32[rows, cols/32] = w_scale
)");
}

TEST(QuantisedBlocks, StoresQuantise) {
  EXPECT_EQ(left("program p(x: f32[rows, cols])\n store q: q8_0[rows, cols] = x * 2"),
            R"(program p(x: f32[rows, cols])
  t1 = x * 2
  t2 = fold<32> max(abs(t1)) / 127
  store q_codes: i8[rows, cols] = quantize(t1, t2)
  store q_scale: f16[rows, cols/32] = t2
)");
}

}  // namespace
}  // namespace lanefold::ir
