#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "jit/range.h"

namespace lanefold::jit {
namespace {

using lane::Op;

constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min(), kMax = std::numeric_limits<std::int32_t>::max();

std::int64_t apply(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::rem: return a % b;
    case Op::bit_and: return a & b;
    case Op::shift_left: return a * (std::int64_t{1} << b);
    case Op::shift_right: return a >> b;
    case Op::min: return std::min(a, b);
    default: return std::max(a, b);
  }
}

TEST(Range, HoldsEveryResultOfItsOperation) {
  int bounded = 0;
  const std::vector<std::int64_t> ends = {kMin, -70000, -7, -1, 0, 1, 3, 31, 70000, kMax};
  for (const Op op :
       {Op::add, Op::sub, Op::mul, Op::div, Op::rem, Op::bit_and, Op::shift_left, Op::shift_right, Op::min, Op::max})
    for (const std::int64_t a0 : ends)
      for (const std::int64_t a1 : ends)
        for (const std::int64_t b0 : ends)
          for (const std::int64_t b1 : ends) {
            const bool divides = op == Op::div || op == Op::rem;
            const bool shifts = op == Op::shift_left || op == Op::shift_right;
            if (a0 > a1 || b0 > b1 || (divides && b0 <= 0) || (shifts && (b0 < 0 || b1 > 31))) continue;
            const auto range = range_of(op, Range{a0, a1}, Range{b0, b1});
            if (!range) continue;
            ++bounded;
            EXPECT_TRUE(within_i32(*range)) << lane::op_name(op);
            for (const std::int64_t a : {a0, std::min(a0 + 1, a1), a0 + (a1 - a0) / 2, a1})
              for (const std::int64_t b : {b0, b0 + (b1 - b0) / 2, b1}) {
                const std::int64_t result = apply(op, a, b);
                EXPECT_TRUE(range->low <= result && result <= range->high)
                    << lane::op_name(op) << ' ' << a << ' ' << b << " outside " << range->low << " to " << range->high;
              }
          }
  EXPECT_GT(bounded, 1000);
}

TEST(Range, NeedsNoBoundsOfTheOtherOperandUnderAMask) {
  const auto masked = range_of(Op::bit_and, std::nullopt, Range{15, 15});
  ASSERT_TRUE(masked);
  EXPECT_EQ(masked->high, 15);
  EXPECT_EQ(range_of(Op::rem, std::nullopt, Range{9, 9})->low, -8);
  EXPECT_FALSE(range_of(Op::bit_and, std::nullopt, Range{-1, -1}));
  EXPECT_FALSE(range_of(Op::add, std::nullopt, Range{1, 1}));
}

TEST(Range, HasNoBoundsForWhatMayWrap) {
  EXPECT_TRUE(range_of(Op::add, Range{0, kMax - 1}, Range{1, 1}));
  EXPECT_FALSE(range_of(Op::add, Range{0, kMax}, Range{1, 1}));
  EXPECT_FALSE(range_of(Op::sub, Range{kMin, 0}, Range{1, 1}));
  EXPECT_FALSE(range_of(Op::mul, Range{kMin, 0}, Range{-1, -1}));
  EXPECT_FALSE(range_of(Op::shift_left, Range{0, 2}, Range{30, 30}));
}

TEST(Range, LanesStayWithinI32UpToItsEnds) {
  EXPECT_TRUE(stays_within_i32(Range{0, kMax - 3}, 1, 4));
  EXPECT_FALSE(stays_within_i32(Range{0, kMax - 2}, 1, 4));
  EXPECT_TRUE(stays_within_i32(Range{kMin + 6, 0}, -2, 4));
  EXPECT_FALSE(stays_within_i32(Range{kMin + 5, 0}, -2, 4));
  EXPECT_FALSE(stays_within_i32(std::nullopt, 1, 4));
}

}  // namespace
}  // namespace lanefold::jit
