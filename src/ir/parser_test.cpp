// Each fault of the text form, with the line and column that its diagnostic names.
#include <gtest/gtest.h>

#include <string>

#include "ir/lexer.h"
#include "ir/program.h"

namespace lanefold::ir {
namespace {

void rejects(const std::string& text, Code code, const std::string& place) {
  const Result<Program> program = parse(text, "t.fold");
  ASSERT_FALSE(program.ok()) << text;
  EXPECT_EQ(code_name(program.error().code), code_name(code)) << text << "\n" << program.error().text();
  EXPECT_EQ(program.error().place, "t.fold:" + place) << text << "\n" << program.error().text();
  EXPECT_FALSE(program.error().message.empty());
}

/// The fault of a third line, after inputs x, w (column), r (row), l (i32 row), q (block) and parameter eps.
void rejects_line(const std::string& line, Code code, int column) {
  rejects(
      "program p(x: f32[rows, cols], w: f32[cols], r: f32[rows], l: i32[rows],\n"
      "          q: f32[rows, cols/32], eps = 1)\n" +
          line + "\n",
      code, "3:" + std::to_string(column));
}

TEST(Reject, Syntax) {
  rejects("", Code::syntax, "1:1");
  rejects("x = 1", Code::syntax, "1:1");
  rejects("program p(", Code::syntax, "1:11");
  rejects("program p() 3", Code::syntax, "1:13");
  rejects_line("store y: f32[rows, cols] = x +", Code::syntax, 31);
  rejects("program p(x: f32[cols])\nstore y: f32[rows, cols] = (x\n", Code::syntax, "3:1");
  rejects_line("store y: f32[rows, cols] = x $ 2", Code::syntax, 30);
  rejects_line("store y: f32[rows, cols] = 2x", Code::syntax, 28);
  rejects_line("store y: f32[rows, cols] = x w", Code::syntax, 30);
  rejects_line("store y: f32[rows, cols] = select(x < w < r, 1, 0)", Code::syntax, 41);
  rejects_line("store y: f32[rows, cols] = select(1 < not x, 1, 0)", Code::syntax, 39);
  rejects_line("a, b = x", Code::syntax, 8);
}

TEST(Reject, SizesAndNesting) {
  rejects_line("a = " + std::string(250, '(') + "x" + std::string(250, ')'), Code::nesting_too_deep, 205);
  const Result<Program> deep = parse("program p()\n a = " + std::string(100000, '-') + "1");
  ASSERT_FALSE(deep.ok());
  EXPECT_EQ(deep.error().code, Code::nesting_too_deep);
  const Result<Program> large = parse(std::string(kMaxTextBytes + 1, ' '), "t.fold");
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, Code::text_too_large);
  EXPECT_EQ(large.error().place, "t.fold");
}

TEST(Reject, Literals) {
  rejects_line("a = 1e39", Code::literal_out_of_range, 5);
  rejects_line("a = x + 1e-50", Code::literal_out_of_range, 9);
  rejects("program p(x: i8[cols] = 200)\n store y: i32[rows, cols] = x", Code::literal_out_of_range, "1:11");
  rejects("program p(x: i32[cols] = 0.5)\n store y: i32[rows, cols] = x", Code::literal_out_of_range, "1:11");
}

TEST(Reject, Names) {
  rejects_line("a = b", Code::unknown_name, 5);
  rejects_line("a = sum(x)", Code::unknown_name, 5);
  rejects_line("a = x'", Code::unknown_name, 5);
  rejects("program p(x: f31[cols])", Code::unknown_name, "1:14");
  rejects_line("x = 1", Code::duplicate_name, 1);
  rejects_line("a, a = fold welford x", Code::duplicate_name, 4);
  rejects_line("store x: f32[rows, cols] = w", Code::duplicate_name, 7);
  rejects("program p(x: f32[cols], x = 1)", Code::duplicate_name, "1:25");
  rejects_line("fold = 1", Code::reserved_name, 1);
  rejects_line("a' = 1", Code::reserved_name, 1);
  rejects_line("store cols: f32[rows, cols] = x", Code::reserved_name, 7);
  rejects("program p'()", Code::reserved_name, "1:9");
  rejects("monoid max(a: f32) of (x: f32)\nlift = x\nmerge = a\n", Code::reserved_name, "1:8");
  rejects("monoid exp(a: f32) of (x: f32)\nlift = x\nmerge = a\n", Code::reserved_name, "1:8");
  EXPECT_TRUE(parse("program max(x: f32[rows, cols])\n store y: f32[rows] = fold max x").ok());
  rejects_line("a = fold median x", Code::unknown_monoid, 5);
}

TEST(Reject, CountsOfArgumentsAndResults) {
  rejects_line("a = fma(x, w)", Code::wrong_argument_count, 5);
  rejects_line("a = abs()", Code::wrong_argument_count, 5);
  rejects_line("a = i32(x, w)", Code::wrong_argument_count, 5);
  rejects_line("a = gather(x)", Code::wrong_argument_count, 5);
  rejects_line("a = fold dot x", Code::wrong_argument_count, 5);
  rejects_line("a = 1 + fold welford x", Code::wrong_result_count, 9);
  rejects_line("a, b = fold sum x", Code::wrong_result_count, 1);
}

TEST(Reject, Types) {
  rejects_line("a = x + (x < w)", Code::type_mismatch, 7);
  rejects_line("a = not x", Code::type_mismatch, 5);
  rejects_line("a = select(x, w, r)", Code::type_mismatch, 5);
  rejects_line("a = select(x < w, x < w, r)", Code::type_mismatch, 5);
  rejects_line("a = f32(x < w)", Code::type_mismatch, 5);
  rejects_line("store y: f32[rows] = fold any x", Code::type_mismatch, 22);
  rejects_line("store y: i8[rows, cols] = x", Code::type_mismatch, 7);
  rejects_line("store y: f32[rows, cols] = x < w", Code::type_mismatch, 7);
}

TEST(Reject, WithTheNamesOfTheText) {
  for (const char* line : {"store y: f32[2][rows] = x", "store y: q8_0[rows, cols] = x < x",
                           "store y: q8_0[rows, cols] = w", "store y: i8[2][rows, cols] = x"}) {
    const Result<Program> program = parse(std::string("program p(x: f32[rows, cols], w: f32[2][cols])\n") + line);
    ASSERT_FALSE(program.ok()) << line;
    const std::string text = program.error().text();
    EXPECT_EQ(text.find("y_"), text.npos) << text;
    EXPECT_NE(text.find("output 'y'"), text.npos) << text;
  }
  const Result<Program> wide = parse("program p(x: f64[2][cols])\n store y: f32[2][rows, cols] = x");
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().message.find("input 'x'"), std::string::npos) << wide.error().text();
}

TEST(Reject, KindsAndShapes) {
  rejects_line("store y: f32[rows] = x", Code::kind_mismatch, 7);
  rejects_line("store y: f32[rows, cols/64] = q", Code::kind_mismatch, 7);
  rejects_line("store y: f32[rows, cols/32] = w", Code::kind_mismatch, 7);
  rejects_line("store y: f32[cols, rows] = x", Code::bad_domain, 13);
  rejects_line("store y: f32[rows/2, cols] = x", Code::bad_domain, 13);
  rejects_line("store y: f32[n] = x", Code::bad_domain, 13);
  rejects_line("store y: f32[batch, rows, cols] = x", Code::unsupported_axis, 13);
  rejects_line("store y: f32[rows] = fold[columns] sum x", Code::unsupported_axis, 27);
  rejects_line("store y: f32[rows] = fold[rows] sum x", Code::kind_mismatch, 7);
  rejects_line("store y: f32[cols] = x", Code::kind_mismatch, 7);
  rejects_line("store y: f32[cols] = r", Code::kind_mismatch, 7);
  rejects_line("store y: f32[cols] = fold[rows] argmax x", Code::unsupported_axis, 22);
  rejects_line("store y: f32[cols] = fold[rows] sum gather(x, l)", Code::unsupported_axis, 37);
  rejects_line("store y: f32[cols] = fold[rows] sum (x * col)", Code::unsupported_axis, 22);
  rejects_line("store y: f32[cols] = fold[rows] sum (fold<32> max x)", Code::fold_of_block, 22);
  rejects_line("store y: f32[cols] = fold[rows] sum (x * fold sum (x - fold[rows] sum x))", Code::unsupported_axis, 42);
  rejects_line("store y: f32[rows, cols/48] = r", Code::bad_block_size, 7);
  rejects_line("store y: f32[rows, cols/48] = fold<48> max x", Code::bad_block_size, 31);
  rejects_line("store y: f32[rows] = fold<65536> max x", Code::bad_block_size, 22);
  rejects_line("a = fold<0> max x", Code::literal_out_of_range, 10);
  rejects_line("store y: f32[rows] = fold sum q", Code::fold_of_block, 22);
  rejects_line("store y: f32[rows, cols/32] = fold<32> sum (q * r)", Code::fold_of_block, 31);
}

TEST(Reject, Gather) {
  rejects_line("a = gather(x + 1, l)", Code::gather_source, 5);
  rejects_line("a = gather(r, l)", Code::gather_source, 5);
  rejects_line("a = gather(x, eps)", Code::gather_index, 5);
  rejects_line("a = gather(x, i32(q))", Code::gather_index, 5);
  rejects_line("a = gather(x, i32(w))", Code::gather_index, 5);
}

TEST(Reject, WhatIsNotBuiltYet) {
  rejects("program p(x: f32[0][rows, cols])\n store y: f32[rows, cols] = x", Code::literal_out_of_range, "1:18");
  rejects_line("store y: f32[17][rows, cols] = x", Code::bad_inner_axis, 14);
  rejects("program p(x: q4_0[rows, cols])", Code::unsupported_storage, "1:14");
  rejects("program p(x: q8_0[cols])", Code::unsupported_storage, "1:14");
  rejects("program p(x: q8_0[2][rows, cols])", Code::unsupported_storage, "1:14");
  rejects("program p(x: q8_0[rows, cols] = 1)", Code::unsupported_storage, "1:31");
  std::string sum = "x";
  for (int i = 0; i < 2500; ++i) sum += " + x";
  rejects("program p(x: f32[rows, cols])\n store y: f32[rows, cols] = " + sum, Code::nesting_too_deep, "2:8031");
  std::string wide = "program p(x: f32[rows, cols])\n a0 = x + 1\n";
  for (int i = 1; i < 12000; ++i) wide += " a" + std::to_string(i) + " = x + 1\n";
  EXPECT_EQ(parse(wide + " store y: f32[rows, cols] = a0").error().code, Code::text_too_large);
  rejects("program p(x: i64[rows, cols])\n store y: i32[rows] = cols", Code::unsupported_storage, "1:11");
  rejects("program p(x: f64[rows, cols])\n store y: f32[rows] = cols", Code::unsupported_storage, "1:11");
  rejects_line("store y: f64[rows, cols] = x", Code::unsupported_storage, 7);
}

TEST(Reject, Programs) {
  rejects("program p(x)", Code::default_missing, "1:11");
  const Result<Program> empty = parse("program p()\n", "t.fold");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, Code::no_stores);
  std::string many = "program p(a0 = 0";
  for (int i = 1; i <= 64; ++i) many += ",\na" + std::to_string(i) + " = 0";
  rejects(many + ")\n store y: f32[rows] = a0", Code::too_many_names, "65:1");
}

TEST(Reject, TooManyNames) {
  std::string names = "a0";
  for (int i = 1; i <= 64; ++i) names += ", a" + std::to_string(i);
  rejects_line(names + " = fold welford x", Code::too_many_names, 311);
  std::string monoids;
  for (int i = 0; i <= 64; ++i)
    monoids += "monoid m" + std::to_string(i) + "(a: f32) of (x: f32)\nlift = x\nmerge = a\n";
  rejects(monoids + "program p()", Code::too_many_names, "193:8");
}

/// The fault of a monoid of state (a: f32, n: i32) and element (x: f32) whose parts begin on line 2.
void rejects_monoid(const std::string& parts, Code code, const std::string& place) {
  rejects("monoid m(a: f32, n: i32) of (x: f32)\n" + parts +
              "\nprogram p(x: f32[rows, cols])\n s, k = fold m x\n store y: f32[rows] = s\n",
          code, place);
}

TEST(Reject, Monoids) {
  const std::string merge = "merge = a + a', n + n'\n";
  rejects_monoid("lift = x, 1", Code::monoid_part_missing, "1:8");
  rejects_monoid(merge, Code::monoid_part_missing, "1:8");
  rejects_monoid(merge + "step = a, n", Code::monoid_part_missing, "1:8");
  rejects_monoid(merge + "lift = x", Code::monoid_values, "1:8");
  rejects_monoid(merge + "identity = 0\nlift = x, 1", Code::monoid_values, "1:8");
  rejects_monoid(merge + "lift = x, x", Code::type_mismatch, "1:8");
  rejects_monoid(merge + "lift = x, i32(1.5)\nidentity = 0, 0.5", Code::type_mismatch, "4:15");
  rejects_monoid(merge + "lift = x, x + 1", Code::type_mismatch, "3:13");
  rejects_monoid(merge + "lift = x, 1\nlift = x, 1", Code::duplicate_name, "4:1");
  rejects_monoid(merge + "lift = x + let, 1", Code::syntax, "3:12");
  rejects_monoid(merge + "lift = let x = 1, x, 1", Code::duplicate_name, "3:12");
  rejects_monoid(merge + "lift = let fold = 1, x, 1", Code::reserved_name, "3:12");
  rejects_monoid(merge + "start = x, 1", Code::unknown_name, "3:1");
  rejects_monoid(merge + "lift = a, 1", Code::unknown_name, "3:8");
  rejects_monoid(merge + "lift = x, col", Code::impure_monoid, "3:11");
  rejects_monoid(merge + "lift = fold sum x, 1", Code::impure_monoid, "3:8");
  rejects_monoid(merge + "lift = gather(x, 0), 1", Code::impure_monoid, "3:8");
  rejects("monoid sum(a: f32) of (x: f32)\nlift = x\nmerge = a\n", Code::reserved_name, "1:8");
  rejects("monoid m(a: f32, a: f32) of (x: f32)\n", Code::duplicate_name, "1:18");
  rejects("monoid m(a: f32) of (a: f32)\n", Code::duplicate_name, "1:22");
  rejects("monoid m(a: bf16) of (x: f32)\nlift = x\nmerge = a\n", Code::type_mismatch, "1:8");
  const std::string twice = "monoid m(a: f32) of (x: f32)\nlift = x\nmerge = a\n";
  rejects(twice + twice + "program p()", Code::duplicate_name, "4:8");
}

TEST(Lexer, CountsLinesAndCharacters) {
  const Result<std::vector<Token>> tokens = tokenize("# é\n\n a (b\n# in parentheses\n c)\r\n\"", "t");
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().place, "t:6:1");
  const Result<std::vector<Token>> good = tokenize("a (b\n c) <= 1.5e-3\n\n\nd'", "t");
  ASSERT_TRUE(good.ok());
  std::string joined;
  for (const Token& token : *good) joined += token.kind == Token::Kind::newline ? "|" : std::string(token.text) + ".";
  EXPECT_EQ(joined, "a.(.b.c.).<=.1.5e-3.|d'.|.");
  EXPECT_EQ((*good)[3].place, (Place{2, 2}));
}

}  // namespace
}  // namespace lanefold::ir
