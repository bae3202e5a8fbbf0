#include "ir/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/monoid_builder.h"

namespace lanefold::ir {
namespace {

std::string printed(Result<Program> program) {
  EXPECT_TRUE(program.ok()) << (program ? "" : program.error().text());
  return program ? print(*program) : "";
}

TEST(Builder, EqualsTheText) {
  ProgramBuilder b("rms_norm");
  const Expr x = b.input("x", ElementType::bf16);
  const Expr weight = b.column("weight", ElementType::f32, 1.0);
  const Expr eps = b.parameter("eps", 1e-6);
  const Expr offset = b.parameter("offset", 0);
  const Expr inv = (1.0f / sqrt(b.fold("dot", {x, x}) / b.cols() + eps)).named("inv");
  b.store("y", ElementType::bf16, x * (weight + offset) * inv);
  b.store("rstd", ElementType::f32, inv);
  EXPECT_EQ(printed(b.finish()), printed(parse(R"(
program rms_norm(x: bf16[rows, cols], weight: f32[cols] = 1, eps = 1e-6, offset = 0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  store y: bf16[rows, cols] = x * (weight + offset) * inv
  store rstd: f32[rows] = inv
)")));
}

TEST(Builder, EveryOperator) {
  ProgramBuilder b("p");
  const Expr x = b.input("x", ElementType::f32);
  const Expr r = b.row("r", ElementType::i32);
  const Expr q = b.blocks("q", ElementType::f16, 32);
  const Expr c = b.number(2).named("c");
  const Expr condition = (x < 1 || x >= 2.5 || !(x == 3)) && (x != 4 && b.boolean(true)) && x <= 9 && x > -9;
  const Expr a = (select(condition, min(x, q), max(x, 0)) - fma(x, c, -x)).named("a");
  b.store("a", ElementType::f32, tanh(abs(a)) + sigmoid(erf(trunc(round(exp(log(a)))))));
  b.store("n", ElementType::i32, quantize(x, q) + to_i32(x) + r * 2 + b.col());
  b.store("f", ElementType::f32, b.gather(x, r) + to_f32(r), Kind{Kind::Tag::element, 0});
  b.store("g", ElementType::i32, b.fold("argmax", {x}));
  b.store("h", ElementType::f32, b.fold("max", {x}, 32));
  EXPECT_EQ(printed(b.finish()), printed(parse(R"(
program p(x: f32[rows, cols], r: i32[rows], q: f16[rows, cols/32])
  c = 2
  a = select((x < 1 or x >= 2.5 or not x == 3) and (x != 4 and true) and x <= 9 and x > -9, min(x, q), max(x, 0)) - fma(x, c, -x)
  store a: f32[rows, cols] = tanh(abs(a)) + sigmoid(erf(trunc(round(exp(log(a))))))
  store n: i32[rows, cols] = quantize(x, q) + i32(x) + r * 2 + col
  store f: f32[rows, cols] = gather(x, r) + f32(r)
  store g: i32[rows] = fold argmax x
  store h: f32[rows, cols/32] = fold<32> max x
)")));
}

TEST(Builder, MonoidsEqualTheirText) {
  const float inf = std::numeric_limits<float>::infinity();
  MonoidBuilder m("absmax", {{"m", ElementType::f32}, {"n", ElementType::i32}}, {{"x", ElementType::f32}});
  m.identity({-inf, 0});
  m.step([](const MonoidBuilder::Exprs& state, const MonoidBuilder::Exprs& element) {
    return MonoidBuilder::Exprs{max(state[0], abs(element[0])), state[1] + 1};
  });
  m.merge([](const MonoidBuilder::Exprs& left, const MonoidBuilder::Exprs& right) {
    return MonoidBuilder::Exprs{max(left[0], right[0]), left[1] + right[1]};
  });
  m.finish([](const MonoidBuilder::Exprs& state) { return MonoidBuilder::Exprs{state[0] / state[1]}; });
  Result<Monoid> monoid = m.build();
  ASSERT_TRUE(monoid.ok()) << monoid.error().text();
  ProgramBuilder b("p");
  b.add_monoid(std::move(*monoid));
  b.store("y", ElementType::f32, b.fold("absmax", {b.input("x", ElementType::f32)}));
  EXPECT_EQ(printed(b.finish()), printed(parse(R"(
monoid absmax(m: f32, n: i32) of (x: f32)
  identity = -inf, 0
  step = max(m, abs x), n + 1
  merge = max(m, m'), n + n'
  finish = m / n
program p(x: f32[rows, cols])
  store y: f32[rows] = fold absmax x
)")));
}

template <class Build>
void rejects(Code code, Build build) {
  ProgramBuilder b("p");
  const Expr x = b.input("x", ElementType::f32);
  b.store("kept", ElementType::f32, x);
  build(b, x);
  const Result<Program> program = b.finish();
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(code_name(program.error().code), code_name(code)) << program.error().text();
}

TEST(Builder, FaultsComeFromFinish) {
  rejects(Code::type_mismatch,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, sqrt(x + (x < 1)) * 2); });
  rejects(Code::type_mismatch, [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, to_f32(x < 1)); });
  rejects(Code::unknown_monoid,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, b.fold("median", {x}) + 1); });
  rejects(Code::wrong_result_count,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, b.fold("welford", {x})); });
  rejects(Code::gather_source,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, b.gather(x + 1, b.col())); });
  rejects(Code::gather_index, [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, b.gather(x, x)); });
  rejects(Code::duplicate_name, [](ProgramBuilder& b, Expr x) { b.store("kept", ElementType::f32, x); });
  rejects(Code::duplicate_name,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, (x + 1).named("a") + (x + 2).named("a")); });
  rejects(Code::reserved_name,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, (x + 1).named("in place")); });
  rejects(Code::literal_out_of_range,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, x * b.parameter("big", 1e300)); });
  rejects(Code::bad_block_size,
          [](ProgramBuilder& b, Expr x) { b.store("y", ElementType::f32, b.fold("max", {x}, 33)); });
}

TEST(Builder, ValuesOfTwoBuildersDoNotMix) {
  ProgramBuilder a("a");
  ProgramBuilder b("b");
  const Expr x = a.input("x", ElementType::f32);
  const Expr y = b.input("y", ElementType::f32);
  EXPECT_THROW(x + y, InternalError);
}

}  // namespace
}  // namespace lanefold::ir
