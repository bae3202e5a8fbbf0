#include "ir/program.h"

#include <gtest/gtest.h>

#include "ir/names.h"
#include "ir/order.h"

namespace lanefold::ir {
namespace {

constexpr Kind kUniform{Kind::Tag::uniform, 0};
constexpr Kind kRow{Kind::Tag::row, 0};
constexpr Kind kColumn{Kind::Tag::column, 0};
constexpr Kind kElement{Kind::Tag::element, 0};
constexpr Kind kBlock32{Kind::Tag::block, 32};
constexpr Kind kBlock64{Kind::Tag::block, 64};

TEST(Kind, JoinIsTheSmallestCommonKind) {
  EXPECT_EQ(join(kUniform, kRow), kRow);
  EXPECT_EQ(join(kRow, kColumn), kElement);
  EXPECT_EQ(join(kRow, kBlock32), kBlock32);
  EXPECT_EQ(join(kColumn, kBlock32), kElement);
  EXPECT_EQ(join(kBlock32, kBlock32), kBlock32);
  EXPECT_EQ(join(kBlock32, kBlock64), kElement);
}

TEST(Kind, JoinIsCommutativeAssociativeAndIdempotent) {
  const Kind kinds[] = {kUniform, kRow, kColumn, kElement, kBlock32, kBlock64};
  for (Kind a : kinds) {
    EXPECT_EQ(join(a, a), a);
    EXPECT_EQ(join(a, kElement), kElement);
    for (Kind b : kinds) {
      EXPECT_EQ(join(a, b), join(b, a));
      for (Kind c : kinds) EXPECT_EQ(join(join(a, b), c), join(a, join(b, c)));
    }
  }
}

TEST(Kind, HasAName) {
  EXPECT_EQ(kind_name(kBlock32), "block<32>");
  EXPECT_EQ(kind_name(kElement), "element");
  EXPECT_EQ(kind_name(kUniform), "uniform");
}

TEST(Op, TableIsReadable) {
  EXPECT_EQ(op_spelling(Op::le), "<=");
  EXPECT_EQ(op_name(Op::logical_and), "logical_and");
  EXPECT_EQ(op_operands(Op::fma), 3u);
  EXPECT_EQ(op_form(Op::gather), OpForm::special);
  EXPECT_EQ(function_from_name("quantize"), Op::quantize);
  EXPECT_EQ(function_from_name("+"), std::nullopt);
}

TEST(Order, NamesRoundTrip) {
  for (Order order : {Order::serial, Order::canonical, Order::free})
    EXPECT_EQ(order_from_name(order_name(order)), order);
  EXPECT_EQ(order_from_name("fastest"), std::nullopt);
}

TEST(Order, VirtualLanesCoverAQuarterOfTheSegment) {
  EXPECT_EQ(CanonicalOrder::virtual_lanes(1), 32);
  EXPECT_EQ(CanonicalOrder::segments(1), 1);
  EXPECT_EQ(CanonicalOrder::segments(CanonicalOrder::segment + 1), 2);
  for (std::int64_t cols : {127, 128, 129, 1000, 4096, 32768, 131072}) {
    const std::int64_t n = std::min(cols, CanonicalOrder::segment);
    const std::int64_t v = CanonicalOrder::virtual_lanes(cols);
    EXPECT_TRUE(v == CanonicalOrder::max_virtual_lanes || v * CanonicalOrder::elements_per_lane >= n) << cols;
    EXPECT_TRUE(v == CanonicalOrder::min_virtual_lanes || v / 2 * CanonicalOrder::elements_per_lane < n) << cols;
  }
}

TEST(Names, ReservedWordsAreWordsOfTheLanguage) {
  for (const char* word : {"fold", "store", "cols", "rows", "select", "and", "gather", "f32", "inf"})
    EXPECT_TRUE(is_reserved(word)) << word;
  for (const char* word : {"x", "sum", "weight", "merge", "t1"}) EXPECT_FALSE(is_reserved(word)) << word;
  EXPECT_FALSE(is_identifier("a'"));
  EXPECT_FALSE(is_identifier("1a"));
  EXPECT_TRUE(is_identifier("_a1"));
}

}  // namespace
}  // namespace lanefold::ir
