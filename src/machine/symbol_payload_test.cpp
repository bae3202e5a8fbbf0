#include "machine/symbol_payload.h"

#include <gtest/gtest.h>

#include <array>

#include "machine/test_symbols.h"

namespace lanefold::machine {
namespace {

using enum ElementType;
using MachineSymbolsPayload = MachineSymbols;

TEST_F(MachineSymbolsPayload, PayloadDiffersAfterARule) {
  const NodeId sum = f(Op::add, {x, y});
  EXPECT_FALSE(s.payload_may_differ(sum));
  f(Op::add, {x, y});
  EXPECT_FALSE(s.payload_may_differ(sum));  // the same order again
  const NodeId above = f(Op::sqrt, {sum});
  EXPECT_FALSE(s.payload_may_differ(above));
  f(Op::add, {y, x});
  EXPECT_TRUE(s.payload_may_differ(sum));
  EXPECT_TRUE(s.payload_may_differ(above));  // although it is older than the rule
  EXPECT_FALSE(s.payload_may_differ(x));
  EXPECT_FALSE(s.payload_may_differ(f(Op::mul, {y, x})));  // one order, if not the order kept
  EXPECT_TRUE(s.payload_may_differ(f(Op::neg, {sum})));
  EXPECT_TRUE(s.payload_may_differ(s.call("exp", std::array{sum}, 0, f32)));
  EXPECT_FALSE(s.payload_may_differ(f(Op::add, {z, z})));
  f(Op::add, {z, real(-0.0f)});
  EXPECT_TRUE(s.payload_may_differ(z));
  EXPECT_TRUE(s.payload_may_differ(f(Op::add, {z, z})));
  f(Op::mul, {in(5), real(1)});
  EXPECT_TRUE(s.payload_may_differ(in(5)));
  EXPECT_TRUE(s.payload_may_differ(f(Op::fma, {in(6), in(7), real(-0.0f)})));
  EXPECT_FALSE(s.payload_may_differ(f(Op::fma, {in(6), in(8), in(7)})));
  EXPECT_TRUE(s.payload_may_differ(f(Op::sub, {real(kInf), real(kInf)})));
  EXPECT_FALSE(s.payload_may_differ(f(Op::sub, {real(2), real(1)})));
}

TEST_F(MachineSymbolsPayload, PayloadOfSets) {
  const NodeId left = f(Op::max, {f(Op::max, {x, y}), z});
  f(Op::max, {f(Op::max, {x, y}), z});
  EXPECT_FALSE(s.payload_may_differ(left));
  f(Op::max, {x, f(Op::max, {y, z})});
  EXPECT_TRUE(s.payload_may_differ(left));
  const NodeId two = f(Op::min, {x, y});
  EXPECT_FALSE(s.payload_may_differ(two));
  f(Op::min, {y, x});
  EXPECT_TRUE(s.payload_may_differ(two));
  const NodeId p = f(Op::lt, {x, y}), q = f(Op::lt, {y, z});
  EXPECT_EQ(b(Op::bit_or, {p, q}), b(Op::bit_or, {q, p}));
  EXPECT_FALSE(s.payload_may_differ(b(Op::bit_or, {p, q})));
}

TEST_F(MachineSymbolsPayload, PayloadIsHiddenWhereEveryNanGivesTheSame) {
  const NodeId sum = f(Op::add, {x, y});
  f(Op::add, {y, x});
  const NodeId clean = f(Op::canonical_nan, {sum});
  EXPECT_FALSE(s.payload_may_differ(clean));
  EXPECT_FALSE(s.payload_may_differ(f(Op::lt, {sum, z})));
  EXPECT_FALSE(s.payload_may_differ(s.convert(f32, i32, sum)));
  for (const ElementType type : {f16, bf16, e4m3, e5m2}) EXPECT_FALSE(s.payload_may_differ(s.narrow(type, sum)));
  EXPECT_TRUE(s.payload_may_differ(f(Op::select, {f(Op::lt, {sum, z}), sum, z})));
  EXPECT_FALSE(s.payload_may_differ(f(Op::select, {f(Op::lt, {sum, z}), clean, z})));
  EXPECT_TRUE(s.payload_may_differ(f(Op::select, {f(Op::lt, {sum, z}), z, sum})));
}

TEST_F(MachineSymbolsPayload, PayloadUsedAsANumberIsNotHiddenAgain) {
  const NodeId sum = f(Op::add, {x, y});
  f(Op::add, {y, x});
  const NodeId number = s.bitcast(f32, i32, sum);
  EXPECT_TRUE(s.payload_may_differ(number));
  const NodeId shifted = i(Op::shift_left, {number, integer(9)});
  EXPECT_TRUE(s.payload_may_differ(s.narrow(f16, s.convert(i32, f32, shifted))));
  EXPECT_TRUE(s.payload_may_differ(s.narrow(f16, s.bitcast(i32, f32, shifted))));
  EXPECT_TRUE(s.payload_may_differ(f(Op::canonical_nan, {s.bitcast(i32, f32, shifted)})));
  EXPECT_TRUE(s.payload_may_differ(i(Op::lt, {sum, integer(0)})));  // the same bytes, compared as integers
  EXPECT_TRUE(s.payload_may_differ(s.narrow(i8, sum)));
  EXPECT_TRUE(s.payload_may_differ(s.narrow(bf16, s.widen(f16, s.join(bytes(sum, 0, 2))))));
  // The bits moved about whole are a NaN still.
  EXPECT_FALSE(s.payload_may_differ(s.narrow(f16, s.bitcast(i32, f32, number))));
}

}  // namespace
}  // namespace lanefold::machine
