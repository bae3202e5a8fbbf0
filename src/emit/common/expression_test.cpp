#include "emit/common/expression.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "emit/common/body_writer.h"
#include "emit/common/names.h"
#include "emit/common/range.h"

namespace lanefold::emit {
namespace {

using lane::Op;

Expression name(const char* text) { return {.text = text}; }

TEST(Expression, ParenthesesStandWhereTheyAreNeeded) {
  const Expression sum = infix(name("a"), "+", name("b"), Strength::sum, ElementType::i32);
  EXPECT_EQ(infix(sum, "-", name("c"), Strength::sum, ElementType::i32).text, "a + b - c");
  EXPECT_EQ(infix(name("c"), "-", sum, Strength::sum, ElementType::i32).text, "c - (a + b)");
  EXPECT_EQ(infix(sum, "*", name("c"), Strength::product, ElementType::i32).text, "(a + b) * c");
  const Expression shift = infix(sum, "<<", name("c"), Strength::shift, ElementType::i32);
  EXPECT_EQ(shift.text, "a + b << c");
  EXPECT_EQ(infix(shift, "&", name("d"), Strength::bit_and, ElementType::i32).text, "(a + b << c) & d");
  EXPECT_EQ(inside(shift, Strength::primary), "(a + b << c)");
}

TEST(Expression, SimpleTextsStandAnywhere) {
  EXPECT_TRUE(is_simple(name("values.x")));
  EXPECT_FALSE(is_simple(name("tile[3]")));
  EXPECT_TRUE(is_simple({.text = "-1.5f", .is_literal = true}));
}

TEST(Names, AreUniqueAndFreeAgain) {
  Names names({"add"});
  EXPECT_EQ(names.declare("add"), "add_2");
  names.open();
  EXPECT_EQ(names.declare("sum"), "sum");
  EXPECT_EQ(names.declare("sum"), "sum_2");
  names.close();
  EXPECT_EQ(names.declare("sum"), "sum");
  EXPECT_EQ(names.declare("add"), "add_3");
}

TEST(Ranges, BoundTheExactResult) {
  const auto range = [](Op op, std::optional<Range> a, std::optional<Range> b) {
    return result_range(op, std::array{a, b});
  };
  const auto product = range(Op::mul, Range{-3, 5}, Range{7, 9});
  ASSERT_TRUE(product);
  EXPECT_EQ(product->low, -27);
  EXPECT_EQ(product->high, 45);
  EXPECT_TRUE(fits_i32(range(Op::add, Range{0, 31}, Range{0, 100})));
  EXPECT_FALSE(fits_i32(range(Op::add, Range{0, INT32_MAX}, Range{1, 1})));
  EXPECT_FALSE(range(Op::add, Range{0, 1}, std::nullopt));
  const auto masked = range(Op::bit_and, std::nullopt, Range{7, 7});
  ASSERT_TRUE(masked);
  EXPECT_EQ(masked->low, 0);
  EXPECT_EQ(masked->high, 7);
  const auto either = range(Op::bit_or, Range{0, 5}, Range{0, 8});
  ASSERT_TRUE(either);
  EXPECT_EQ(either->high, 15);
}

TEST(Lines, AreBrokenOutsideOfParentheses) {
  std::string text;
  const std::string call = "merged(" + std::string(30, 'a') + ", " + std::string(30, 'b') + ")";
  append_line(text, 1, "const float value = " + call + " + " + call + ";");
  EXPECT_EQ(text, "  const float value = " + call + "\n      + " + call + ";\n");
  text.clear();
  append_line(text, 0, "// " + std::string(80, 'x') + " " + std::string(80, 'y'));
  EXPECT_EQ(text, "// " + std::string(80, 'x') + "\n// " + std::string(80, 'y') + "\n");
}

}  // namespace
}  // namespace lanefold::emit
