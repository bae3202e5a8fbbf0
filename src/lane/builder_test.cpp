#include "lane/builder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanefold::lane {
namespace {

struct LaneBuilder : testing::Test {
  std::vector<ElementType> types;
  std::vector<Statement> body;
  Builder b{types, body};
};

TEST_F(LaneBuilder, FoldsIntegersOnly) {
  const ValueId three = b.i32(3);
  const ValueId sum = b.add(three, b.i32(-5));
  EXPECT_EQ(body.back().op, Op::constant);
  EXPECT_EQ(body.back().bits, 0xfffffffeu);
  EXPECT_EQ(body.back().result, sum);
  const ValueId wide = b.mul(b.i64(1), b.convert(sum, ElementType::i64));
  EXPECT_EQ(b.type(wide), ElementType::i64);
  const auto folded = std::find_if(body.begin(), body.end(), [&](const Statement& s) { return s.result == wide; });
  ASSERT_NE(folded, body.end());
  EXPECT_EQ(folded->op, Op::constant);
  EXPECT_EQ(folded->bits, 0xfffffffffffffffeu);
  const ValueId lane = b.lane();
  EXPECT_EQ(b.add(lane, b.i32(0)), lane);
  EXPECT_EQ(b.mul(b.i32(1), lane), lane);
  EXPECT_EQ(b.sub(lane, b.i32(0)), lane);
  EXPECT_NE(b.sub(b.i32(0), lane), lane);
  b.add(b.f32(1), b.f32(0));
  EXPECT_EQ(body.back().op, Op::add);
}

TEST_F(LaneBuilder, DefinesConstantsOncePerBlock) {
  const ValueId one = b.f32(1);
  const ValueId flag = b.binary(Op::lt, b.lane(), b.i32(2));
  EXPECT_EQ(b.f32(1), one);
  EXPECT_NE(b.f32(-1), one);
  EXPECT_NE(b.i32(1), b.i64(1));
  ValueId inner = 0;
  b.branch(flag, [&] {
    EXPECT_EQ(b.f32(1), one);  // visible from the block outside
    inner = b.f32(7);
  });
  EXPECT_NE(b.f32(7), inner);  // but not the other way round
}

TEST_F(LaneBuilder, NumbersResultsAndBlocks) {
  const ValueId flag = b.binary(Op::lt, b.lane(), b.i32(2));
  EXPECT_EQ(b.type(flag), ElementType::boolean);
  b.comment("outer");
  b.loop(b.i64(0), b.i64(8), b.i64(1), [&](ValueId i) {
    b.comment("inner");
    b.branch(flag, [&] { b.add(i, i); }, [&] { b.barrier(); });
  });
  ASSERT_EQ(body.back().op, Op::loop);
  EXPECT_EQ(body.back().comment, "");  // the comment went to the first constant of the bounds
  const Statement& branch = body.back().body.at(0);
  EXPECT_EQ(branch.comment, "inner");
  EXPECT_EQ(branch.body.at(0).operands, (std::vector<ValueId>{body.back().result, body.back().result}));
  EXPECT_EQ(branch.otherwise.at(0).op, Op::barrier);
}

TEST_F(LaneBuilder, ShapesVectorResults) {
  const std::vector<ValueId> loaded = b.load(0, ElementType::bf16, b.i64(0), 4, 2);
  ASSERT_EQ(loaded.size(), 4u);
  EXPECT_EQ(b.type(loaded[3]), ElementType::f32);
  EXPECT_EQ(b.fold_lanes(0, loaded, 2, 0, 3).size(), 2u);
  EXPECT_EQ(b.fold_lanes(0, loaded, 1, 0, 1).size(), 2u);
  EXPECT_EQ(b.fold_lanes(0, loaded, 1, 0, 0).size(), 4u);
}

TEST_F(LaneBuilder, RefusesWrongOperands) {
  const ValueId i = b.i32(1);
  const ValueId f = b.f32(1);
  EXPECT_THROW(b.add(i, f), InternalError);
  EXPECT_THROW(b.unary(Op::sqrt, i), InternalError);
  EXPECT_THROW(b.binary(Op::shift_left, f, f), InternalError);
  EXPECT_THROW(b.ternary(Op::select, i, f, f), InternalError);
  EXPECT_THROW(b.convert(f, ElementType::i64), InternalError);
  EXPECT_THROW(b.load(0, ElementType::f32, i), InternalError);
  EXPECT_THROW(b.branch(i, [] {}), InternalError);
  EXPECT_THROW(b.unary(Op::neg, 99), InternalError);
  EXPECT_THROW(b.fold_lanes(0, std::vector<ValueId>{f, f, f}, 1, 0, 1), InternalError);
}

}  // namespace
}  // namespace lanefold::lane
