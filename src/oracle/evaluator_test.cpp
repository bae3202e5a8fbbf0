// The evaluator over a domain of text: what is computed, in which order, shows as an expression.
#include "oracle/evaluator.h"

#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "oracle/test_program.h"

namespace lanefold::oracle {
namespace {

using testing::Case;

/// A symbolic domain: every value is its expression.
struct TextDomain {
  using Value = std::string;

  Value constant(double literal, ElementType) { return std::to_string(static_cast<std::int64_t>(literal)); }
  Value parameter(std::uint32_t index, float) { return "p" + std::to_string(index); }
  Value load(const Source& source) {
    ++loads;
    return std::string(1, static_cast<char>('x' + source.input)) + std::to_string(source.col);
  }
  Value pick(const Lanes<Value>&, std::int64_t, const Value& index, ElementType) { return "pick(" + index + ")"; }
  void apply(const Operation& operation, const Lanes<Value>* operands, std::int64_t count, Value* out) {
    const char* sign = operation.op == ir::Op::add ? "+" : operation.op == ir::Op::mul ? "*" : "?";
    for (std::int64_t i = 0; i < count; ++i) out[i] = "(" + operands[0][i] + sign + operands[1][i] + ")";
  }
  int loads = 0;
};
static_assert(Domain<TextDomain>);

std::string fold_text(std::int64_t n, ir::Order order) {
  Case c(1, n);
  c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.input("x", testing::varied_numbers(n, 1))}));
  TextDomain domain;
  Evaluator<TextDomain> evaluator(c.program, c.bindings, order, domain);
  evaluator.evaluate_row(0);
  return evaluator.stored(0)[0];
}

using Text = std::optional<std::string>;

/// The pair tree of DESIGN §3 over `size` (a power of two) places, some of them empty, from the top down.
Text pair_tree(std::int64_t first, std::int64_t size, const std::function<Text(std::int64_t)>& leaf) {
  if (size == 1) return leaf(first);
  const Text left = pair_tree(first, size / 2, leaf), right = pair_tree(first + size / 2, size / 2, leaf);
  if (!right) return left;
  return "(" + *left + "+" + *right + ")";
}

std::string canonical_text(std::int64_t n) {
  const std::int64_t segment = ir::CanonicalOrder::segment, lanes = ir::CanonicalOrder::virtual_lanes(n);
  std::int64_t places = 1;
  while (places * segment < n) places *= 2;
  return *pair_tree(0, places, [&](std::int64_t s) {
    return pair_tree(0, lanes, [&](std::int64_t v) {
      Text state;
      for (std::int64_t e = s * segment + v; e < n && e < (s + 1) * segment; e += lanes) {
        const std::string element = "x" + std::to_string(e);
        state = state ? "(" + *state + "+" + element + ")" : element;
      }
      return state;
    });
  });
}

TEST(Evaluator, WritesTheCanonicalOrderOfShortRows) {
  EXPECT_EQ(fold_text(1, ir::Order::canonical), "x0");
  EXPECT_EQ(fold_text(2, ir::Order::canonical), "(x0+x1)");
  EXPECT_EQ(fold_text(5, ir::Order::canonical), "(((x0+x1)+(x2+x3))+x4)");
  EXPECT_EQ(fold_text(7, ir::Order::canonical), "(((x0+x1)+(x2+x3))+((x4+x5)+x6))");
}

TEST(Evaluator, StepsAVirtualLaneBeforeItMerges) {
  EXPECT_EQ(fold_text(33, ir::Order::canonical).substr(0, 27), "((((((x0+x32)+x1)+(x2+x3))+");
}

TEST(Evaluator, WritesTheCanonicalOrderOfEveryClassOfWidth) {
  for (std::int64_t n : {1, 2, 3, 31, 32, 33, 64, 127, 128, 129, 1000, 4099, 32768, 32769, 33000, 70000, 100000})
    EXPECT_EQ(fold_text(n, ir::Order::canonical), canonical_text(n)) << n;
}

TEST(Evaluator, WritesTheSerialOrder) {
  EXPECT_EQ(fold_text(1, ir::Order::serial), "x0");
  EXPECT_EQ(fold_text(4, ir::Order::serial), "(((x0+x1)+x2)+x3)");
}

TEST(Evaluator, WritesTheOrdersOfBlockFolds) {
  Case c(1, 16);
  c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.input("x", testing::varied_numbers(16, 1))}, 8));
  TextDomain domain;
  Evaluator<TextDomain> canonical(c.program, c.bindings, ir::Order::canonical, domain);
  canonical.evaluate_row(0);
  EXPECT_EQ(canonical.stored(0)[1], "(((x8+x9)+(x10+x11))+((x12+x13)+(x14+x15)))");
  Evaluator<TextDomain> serial(c.program, c.bindings, ir::Order::serial, domain);
  serial.evaluate_row(0);
  EXPECT_EQ(serial.stored(0)[0], "(((((((x0+x1)+x2)+x3)+x4)+x5)+x6)+x7)");
}

TEST(Evaluator, ReadsColumnInputsOnce) {
  Case c(3, 4);
  const ir::ValueId x = c.input("x", testing::varied_numbers(12, 1));
  const ir::ValueId w = c.input("weight", ElementType::f32, testing::kColumn, {1, 2, 3, 4});
  c.store("y", c.write().real(ir::Op::mul, {x, w}));
  TextDomain domain;
  Evaluator<TextDomain> evaluator(c.program, c.bindings, ir::Order::canonical, domain);
  for (std::int64_t row = 0; row < 3; ++row) evaluator.evaluate_row(row);
  EXPECT_EQ(domain.loads, 12 + 4);
  EXPECT_EQ(evaluator.stored(0)[3], "(x3*y3)");
}

TEST(Evaluator, SpreadsBlocksUnderElements) {
  Case c(1, 4);
  const ir::ValueId x = c.input("x", testing::varied_numbers(4, 1));
  const ir::ValueId sum = c.fold(testing::plain_monoid(ir::Op::add), {x}, 2);
  c.store("y", c.write().real(ir::Op::mul, {x, sum}));
  TextDomain domain;
  Evaluator<TextDomain> evaluator(c.program, c.bindings, ir::Order::canonical, domain);
  evaluator.evaluate_row(0);
  EXPECT_EQ(evaluator.stored(0)[1], "(x1*(x0+x1))");
  EXPECT_EQ(evaluator.stored(0)[2], "(x2*(x2+x3))");
}

TEST(Evaluator, RefusesBindingsThatDoNotFit) {
  Case c(1, 6);
  c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.input("x", testing::varied_numbers(6, 1))}, 4));
  EXPECT_THROW(c.fp64(), InternalError);  // 6 columns are no multiple of 4
  Case empty(1, 0);
  EXPECT_THROW(empty.fp64(), InternalError);
  Case missing(1, 4);
  missing.input("x", testing::varied_numbers(4, 1));
  missing.bindings.inputs.clear();
  EXPECT_THROW(missing.fp64(), InternalError);
}

}  // namespace
}  // namespace lanefold::oracle
