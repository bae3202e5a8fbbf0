#include "ir/print.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/builder.h"

namespace lanefold::ir {
namespace {

Program parsed(std::string_view text) {
  Result<Program> program = parse(text);
  EXPECT_TRUE(program.ok()) << (program ? "" : program.error().text()) << "\n" << text;
  return program ? *program : Program{};
}

/// The canonical text, after checking that it reads back as itself.
std::string canonical(std::string_view text) {
  const std::string once = print(parsed(text));
  EXPECT_EQ(print(parsed(once)), once);
  return once;
}

/// The canonical form of one expression over x, w (column), r (row), l (i32 row), eps; stored as f32.
std::string expression(const std::string& text) {
  const std::string all = canonical(
      "program p(x: f32[rows, cols], w: f32[cols], r: f32[rows], l: i32[rows], eps = 1)\n  store y: f32[rows, cols] "
      "= " +
      text);
  const std::size_t at = all.find("[rows, cols] = ");
  return all.substr(at + 15, all.size() - at - 16);
}

TEST(Print, TheDesignsExample) {
  const std::string text = R"(
program residual_norm_q8(x: f32[rows, cols], residual: f32[rows, cols], weight: f32[cols],
                         eps = 1e-6, offset = 0.0, x_scale = 1.0)
  s    = residual + x_scale * x
  inv  = 1 / sqrt(fold sum (s * s) / cols + eps)
  n    = s * (weight + offset) * inv
  d    = fold<32> max (abs n) / 127          # one per block of 32 columns
  store residual_out: f32[rows, cols]    = s
  store q:            i8[rows, cols]     = quantize(n, d)     # round half away from zero; d = 0 gives 0
  store scale:        f32[rows, cols/32] = d
)";
  EXPECT_EQ(
      canonical(text),
      R"(program residual_norm_q8(x: f32[rows, cols], residual: f32[rows, cols], weight: f32[cols], eps = 1e-06, offset = 0, x_scale = 1)
  s = residual + x_scale * x
  inv = 1 / sqrt(fold sum(s * s) / f32(cols) + eps)
  n = s * (weight + offset) * inv
  d = fold<32> max(abs(n)) / 127
  store residual_out: f32[rows, cols] = s
  store q: i8[rows, cols] = quantize(n, d)
  store scale: f32[rows, cols/32] = d
)");
  const Program program = parsed(text);
  ASSERT_EQ(program.folds.size(), 2u);
  EXPECT_EQ(program.folds[1].block, 32u);
  EXPECT_EQ(program.values[program.stores[2].value].kind, (Kind{Kind::Tag::block, 32}));
  EXPECT_EQ(program.values[program.stores[1].value].type, ElementType::i32);
}

TEST(Print, PrecedenceAndGrouping) {
  EXPECT_EQ(expression("x + w * r - eps"), "x + w * r - eps");
  EXPECT_EQ(expression("(x + w) * (r - eps)"), "(x + w) * (r - eps)");
  EXPECT_EQ(expression("x - (w - r)"), "x - (w - r)");
  EXPECT_EQ(expression("((x - w) - r)"), "x - w - r");
  EXPECT_EQ(expression("x / (w * r)"), "x / (w * r)");
  EXPECT_EQ(expression("-x * w"), "-x * w");
  EXPECT_EQ(expression("-(x * w)"), "-(x * w)");
  EXPECT_EQ(expression("- -x"), "-(-x)");
  EXPECT_EQ(expression("abs x / 2"), "abs(x) / 2");
  EXPECT_EQ(expression("abs sqrt x"), "abs(sqrt(x))");
  EXPECT_EQ(expression("select(not x < w and (r > eps or true), 1, 0)"),
            "select(not x < w and (r > eps or true), 1, 0)");
  EXPECT_EQ(expression("select((not (x < w)) or r == 2 and false, x, 0)"),
            "select(not x < w or r == 2 and false, x, 0)");
  EXPECT_EQ(expression("fold max x / 2"), "fold max(x) / 2");
  EXPECT_EQ(expression("fold max (x / 2)"), "fold max(x / 2)");
  EXPECT_EQ(expression("fold[cols] sum exp x"), "fold sum(exp(x))");
}

TEST(Print, NumbersKeepTheirBits) {
  EXPECT_EQ(expression("x + -0.0"), "x + -0.0");
  EXPECT_EQ(expression("x - -5"), "x - -5");
  EXPECT_EQ(expression("-(-5) + x"), "-(-5) + x");
  EXPECT_EQ(expression("-5 + x"), "-5 + x");
  EXPECT_EQ(expression("max(x, -inf) + nan + -nan"), "max(x, -inf) + nan + -nan");
  EXPECT_EQ(expression("x * 0.1"), "x * 0.1");
  EXPECT_EQ(expression("x * 3.4028235e38 + 1e-45"), "x * 3.4028235e+38 + 1e-45");
  EXPECT_EQ(expression("x * 16777217"), "x * 16777216");
  EXPECT_EQ(expression("x * 100000 * 100000"), "x * 100000 * 100000");
}

TEST(Print, IntegersMeetFloats) {
  EXPECT_EQ(expression("l * 2 + 1"), "f32(l * i32(2) + i32(1))");
  EXPECT_EQ(expression("l * 0.5"), "f32(l) * 0.5");
  EXPECT_EQ(expression("x / cols"), "x / f32(cols)");
  EXPECT_EQ(expression("100000 * 100000 + x"), "100000 * 100000 + x");
  EXPECT_EQ(expression("select(col == l, x, 0)"), "select(col == l, x, 0)");
  EXPECT_EQ(expression("gather(x, 0) + gather(w, col - 1) + gather(x, l)"),
            "gather(x, i32(0)) + gather(w, col - i32(1)) + gather(x, l)");
  EXPECT_EQ(expression("i32(2.5) * i32(3) + i32 x"), "f32(i32(2.5) * i32(3) + i32(x))");
  EXPECT_EQ(expression("f32(x) + f32(l) + f32(i32(-3))"), "x + f32(l) + f32(i32(-3))");
  EXPECT_EQ(expression("fold argmax x + fold argmin(w, cols - col)"),
            "f32(fold argmax(x) + fold argmin(w, cols - col))");
}

TEST(Print, SeveralResultsAndGeneratedNames) {
  EXPECT_EQ(canonical(R"(
program p(x: bf16[rows, cols], t1 = 0)
  mean, variance = fold welford x
  m = mean
  store y: f16[rows, cols] = (x - m) / sqrt(variance + t1)
)"),
            R"(program p(x: bf16[rows, cols], t1 = 0)
  mean, variance = fold welford(x)
  store y: f16[rows, cols] = (x - mean) / sqrt(variance + t1)
)");
  ProgramBuilder b("p");
  const Expr x = b.input("x", ElementType::f32);
  const Expr t1 = b.parameter("t1", 1);
  const Expr twice = x + t1;
  const std::vector<Expr> statistics = b.folds("welford", {twice * twice});
  b.store("y", ElementType::f32, statistics[1]);
  const Result<Program> program = b.finish();
  ASSERT_TRUE(program.ok()) << program.error().text();
  const std::string text = print(*program);
  EXPECT_EQ(text, R"(program p(x: f32[rows, cols], t1 = 1)
  t2 = x + t1
  t3, t4 = fold welford(t2 * t2)
  store y: f32[rows] = t4
)");
  EXPECT_EQ(print(parsed(text)), text);
}

TEST(Print, InputsOutputsAndTheirTypes) {
  const std::string text =
      R"(program p(a: f16[rows, cols], b: bf16[rows], c: e4m3[cols], d: e5m2[rows, cols/64], e: i8[rows, cols] = -3, g: f32[cols] = 1, h: i32[rows] = 7)
  k = 4
  store u: bf16[rows, cols] = a + b + c + d + f32(e) + g + k
  store v: i64[rows] = h
  store w: i8[rows, cols] = a < b
  store z: e4m3[rows, cols/64] = d * k
)";
  EXPECT_EQ(canonical(text), text);
  EXPECT_EQ(canonical("program p()\n store y: i32[rows, cols] = col"),
            "program p()\n  store y: i32[rows, cols] = col\n");
}

TEST(Print, UserMonoids) {
  const std::string text = R"(
monoid range(low: f32, high: f32) of (x: f32)
  identity = inf, -inf
  step = min(low, x), max(high, x)
  merge = min(low, low'), max(high, high')
  finish = let d = high - low, d, d / 2

monoid unused(a: f32) of (x: f32)
  lift = x
  merge = a + a'

monoid count_above(n: i32) of (x: f32, limit: f32)
  lift = select(x > limit, i32(1), i32(0))
  merge = n + n'

program p(x: f32[rows, cols])
  w, half = fold range x
  store y: f32[rows] = w + half
  store n: i32[rows] = fold count_above(x, 2)
)";
  EXPECT_EQ(canonical(text), R"(monoid range(low: f32, high: f32) of (x: f32)
  identity = inf, -inf
  lift = min(inf, x), max(-inf, x)
  step = min(low, x), max(high, x)
  merge = min(low, low'), max(high, high')
  finish = let d = high - low, d, d / 2

monoid count_above(n: i32) of (x: f32, limit: f32)
  lift = select(x > limit, i32(1), i32(0))
  step = n + select(x > limit, i32(1), i32(0))
  merge = n + n'
  finish = n

program p(x: f32[rows, cols])
  w, half = fold range(x)
  store y: f32[rows] = w + half
  store n: i32[rows] = fold count_above(x, 2)
)");
}

TEST(Print, LongChainsAreCutIntoStatements) {
  std::string text = "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = x";
  for (int i = 0; i < 1900; ++i) text += i % 2 == 0 ? "+x" : "*x";
  canonical(text);
  std::string nested = "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = ";
  for (int i = 0; i < 80; ++i) nested += "-(";
  nested += "x" + std::string(80, ')');
  canonical(nested);
}

TEST(Print, Numbers) {
  EXPECT_EQ(print_number(-0.0, ElementType::f32), "-0.0");
  EXPECT_EQ(print_number(1, ElementType::boolean), "true");
  EXPECT_EQ(print_number(-7, ElementType::i32), "-7");
  EXPECT_EQ(print_number(static_cast<double>(1e-6f), ElementType::f32), "1e-06");
}

}  // namespace
}  // namespace lanefold::ir
