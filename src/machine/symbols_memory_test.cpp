#include <gtest/gtest.h>

#include <array>

#include "machine/test_symbols.h"

namespace lanefold::machine {
namespace {

using enum ElementType;
using MachineSymbolsMemory = MachineSymbols;

TEST_F(MachineSymbolsMemory, NarrowAndWiden) {
  for (const ElementType type : {f32, i32}) {
    EXPECT_EQ(s.narrow(type, x), x);
    EXPECT_EQ(s.widen(type, x), x);
  }
  const NodeId less = f(Op::lt, {x, y});
  EXPECT_EQ(s.widen(boolean, s.narrow(boolean, less)), less);
  EXPECT_NE(s.widen(boolean, s.input("m", 0, 1)), s.input("m", 0, 1));
  for (const ElementType type : {f16, bf16, i8, e4m3, e5m2}) {
    EXPECT_NE(s.widen(type, s.narrow(type, x)), x);
    EXPECT_EQ(s.narrow(type, x), s.narrow(type, x));
  }
  EXPECT_NE(s.narrow(f16, x), s.narrow(bf16, x));
  EXPECT_NE(s.widen(e4m3, s.input("m", 0, 1)), s.widen(e5m2, s.input("m", 0, 1)));
  EXPECT_NE(s.narrow(f16, s.widen(f16, s.input("h", 0, 2))), s.input("h", 0, 2));
}

TEST_F(MachineSymbolsMemory, BytesOfAnElementAreTheElement) {
  const NodeId sum = f(Op::add, {x, y}), half = s.narrow(f16, sum), other = s.narrow(f16, z);
  EXPECT_EQ(s.join(bytes(sum, 0, 4)), sum);
  EXPECT_EQ(s.join(bytes(half, 0, 2)), half);
  EXPECT_NE(s.join(std::array{StoredByte{half, 1}, StoredByte{half, 0}}), half);
  // Two i8 of an f16, and back.
  const NodeId low = s.join(bytes(half, 0, 1)), high = s.join(bytes(half, 1, 1));
  EXPECT_NE(low, high);
  EXPECT_EQ(s.join(std::array{StoredByte{low, 0}, StoredByte{high, 0}}), half);
  // Two f16 as an i32, and its halves; the middle is neither.
  const NodeId pair = s.join(together(bytes(half, 0, 2), bytes(other, 0, 2)));
  EXPECT_EQ(s.join(bytes(pair, 0, 2)), half);
  EXPECT_EQ(s.join(bytes(pair, 2, 2)), other);
  EXPECT_EQ(s.join(bytes(pair, 1, 1)), high);
  EXPECT_NE(s.join(bytes(pair, 1, 2)), half);
  EXPECT_NE(pair, s.join(together(bytes(other, 0, 2), bytes(half, 0, 2))));
  // A byte overwritten is no longer the element; written again it is.
  EXPECT_NE(s.join(together(bytes(sum, 0, 3), bytes(low, 0, 1))), sum);
  const NodeId partly = s.join(together(bytes(low, 0, 1), bytes(sum, 1, 3)));
  EXPECT_EQ(s.join(together(bytes(sum, 0, 1), bytes(partly, 1, 3))), sum);
  EXPECT_EQ(s.join(together(bytes(s.join(bytes(sum, 0, 2)), 0, 2), bytes(s.join(bytes(sum, 2, 2)), 0, 2))), sum);
}

TEST_F(MachineSymbolsMemory, BytesOfInputsAndConstants) {
  EXPECT_EQ(s.join(together(bytes(s.input("x", 0, 2), 0, 2), bytes(s.input("x", 2, 2), 0, 2))), x);
  EXPECT_EQ(s.join(together(bytes(x, 0, 4), bytes(y, 0, 4))), s.input("x", 0, 8));
  EXPECT_EQ(s.join(together(bytes(x, 2, 2), bytes(y, 0, 2))), s.input("x", 2, 4));
  EXPECT_EQ(s.join(bytes(s.input("x", 0, 8), 4, 4)), y);
  EXPECT_EQ(s.join(bytes(x, 3, 1)), s.input("x", 3, 1));
  EXPECT_NE(s.join(together(bytes(x, 0, 2), bytes(y, 0, 2))), x);
  EXPECT_NE(s.join(together(bytes(y, 0, 4), bytes(x, 0, 4))), s.input("x", 0, 8));
  EXPECT_NE(s.join(together(bytes(x, 0, 2), bytes(s.input("w", 2, 2), 0, 2))), x);

  const NodeId one = real(1);
  EXPECT_EQ(s.widen(f32, s.join(bytes(s.narrow(f32, one), 0, 4))), one);
  EXPECT_EQ(s.widen(f32, s.join(together(bytes(s.join(bytes(one, 0, 2)), 0, 2), bytes(one, 2, 2)))), one);
  const NodeId half = s.narrow(f16, one);
  EXPECT_EQ(s.widen(f16, s.join(bytes(half, 0, 2))), one);
  EXPECT_EQ(s.join(together(bytes(half, 0, 2), bytes(half, 0, 2))), integer(0x3c003c00));
  EXPECT_EQ(s.widen(i8, s.join(bytes(integer(0x80), 0, 1))), integer(-128));
  EXPECT_EQ(s.widen(boolean, s.join(bytes(integer(2), 0, 1))), s.constant(boolean, 1));
}

TEST_F(MachineSymbolsMemory, BytesOfAnInputThatMayHaveBeenQuietenedAreNotTheInputs) {
  const NodeId before = s.join(bytes(x, 2, 2));
  EXPECT_EQ(before, s.input("x", 2, 2));
  const NodeId quiet = f(Op::add, {x, real(-0.0f)});
  const NodeId after = s.join(bytes(quiet, 2, 2));
  EXPECT_NE(after, before);
  EXPECT_TRUE(s.payload_may_differ(after));
  EXPECT_FALSE(s.payload_may_differ(before));
  EXPECT_EQ(s.join(bytes(quiet, 0, 4)), x);
}

}  // namespace
}  // namespace lanefold::machine
