#include "lanefold/program.h"

#include <gtest/gtest.h>

#include "api/test_calls.h"
#include "ir/program.h"

namespace lanefold::api {
namespace {

/// What the text means, printed by the house's own printer.
std::string meaning(const std::string& text) {
  const auto program = ir::parse(text);
  return program ? ir::print(*program) : program.error().text() + "\n" + text;
}

TEST(ProgramText, MeansWhatItsOperatorsSay) {
  Program p("norm");
  const auto x = p.input("x", Type::bf16);
  const auto weight = p.column("weight", Type::bf16, 1);
  const auto eps = p.parameter("eps", 1e-6), offset = p.option("offset", 0.5);
  const auto inv = p.let("inv", 1 / sqrt(p.fold("dot", {x, x}) / p.cols() + eps));
  p.store("y", Type::bf16, Kind::element, x * (weight + offset) * inv);
  p.store("rstd", Type::f32, Kind::row, inv);
  EXPECT_EQ(meaning(p.text()), meaning(R"(
program norm(x: bf16[rows, cols], weight: bf16[cols] = 1, eps = 1e-6, offset: option = 0.5)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  store y: bf16[rows, cols] = x * (weight + offset) * inv
  store rstd: f32[rows] = inv
)"));
}

TEST(ProgramText, EveryOperationIsOneOfTheLanguage) {
  Program p("all_of_them");
  const auto x = p.input("x", Type::f32), w = p.input("w", Type::q8_0);
  const auto r = p.row("r", Type::i32), b = p.blocks("b", Type::f16, 32), t = p.column("t", Type::f32, std::nullopt, 2);
  const auto a = p.let("a", tanh(abs(sigmoid(erf(trunc(round(exp(log(sqrt(x))))))))));
  const auto c = p.let("c", select((x < 1 && !(x > 2)) || (x <= -3 && x >= 4.5 && x == 0) || x != 1e30, fma(x, a, -a),
                                   min(x, max(a, b))));
  const auto m = p.let("m", p.fold_rows("sum", {x}) / p.rows());
  p.store("y", Type::f32, Kind::element, c + gather(x, r) + to_f32(p.col()) - m + w);
  p.store("n", Type::i32, Kind::element, quantize(x, p.fold("max", {abs(x)}, 32) / 127) + to_i32(x));
  p.store("q", Type::q8_0, Kind::element, c);
  p.store("top", Type::f32, Kind::block, p.fold("max", {x}, 32), 32);
  p.store("d", Type::f32, Kind::row, p.fold("dot", {x, t}), 0, 2);
  p.store("mean", Type::f32, Kind::column, m);
  EXPECT_EQ(meaning(p.text()), meaning(R"(
program all_of_them(x: f32[rows, cols], w: q8_0[rows, cols], r: i32[rows], b: f16[rows, cols/32], t: f32[2][cols])
  a = tanh abs sigmoid erf trunc round exp log sqrt x
  c = select((x < 1 and not (x > 2)) or ((x <= -3 and x >= 4.5) and x == 0) or x != 1e30, fma(x, a, -a), min(x, max(a, b)))
  m = fold[rows] sum x / rows
  store y: f32[rows, cols] = c + gather(x, r) + f32(col) - m + w
  store n: i32[rows, cols] = quantize(x, fold<32> max abs(x) / 127) + i32(x)
  store q: q8_0[rows, cols] = c
  store top: f32[rows, cols/32] = fold<32> max x
  store d: f32[2][rows] = fold dot(x, t)
  store mean: f32[cols] = m
)"));
}

TEST(ProgramText, NumbersKeepTheirValue) {
  EXPECT_EQ(Expression(0.1f).text(), "0.1");
  EXPECT_EQ(Expression(30.0).text(), "30.0");
  EXPECT_EQ(Expression(7).text(), "7");
  EXPECT_EQ(Expression(-2).text(), "-2");
  EXPECT_EQ(Expression(1e-6).text(), "1e-06");
  EXPECT_EQ(Expression(std::numeric_limits<double>::infinity()).text(), "inf");
  Program p("numbers");
  const auto x = p.input("x", Type::f32);
  p.store("y", Type::f32, Kind::element, x - -2 * x + -1.5 * -x);
  EXPECT_EQ(meaning(p.text()),
            meaning("program numbers(x: f32[rows, cols])\n  store y: f32[rows, cols] = x - -2 * x + -1.5 * -x\n"));
}

TEST(ProgramText, FaultsSayWhereTheyAre) {
  Program p("faulty");
  const auto x = p.input("x", Type::f32);
  p.store("y", Type::f32, Kind::row, x);
  expect_error(Code::kind_mismatch, [&] { Kernel::compile_program(p.text(), options()); }, "program:2:9");
}

}  // namespace
}  // namespace lanefold::api
