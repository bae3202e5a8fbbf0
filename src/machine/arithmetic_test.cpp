#include "machine/arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lanefold::machine {
namespace {

using lane::Op;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kQuietNan = 0x7fc00000u;
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();

template <class T>
Word apply(Op op, ElementType type, T a, T b = {}, T c = {}, LaneMask* bad = nullptr) {
  const Word in[3] = {to_word(a), to_word(b), to_word(c)};
  Word out = 0;
  const LaneMask faulty =
      compute(op, type, {.width = 1, .mask = 1, .a = &in[0], .b = &in[1], .c = &in[2], .out = &out});
  if (bad != nullptr) {
    *bad = faulty;
  } else {
    EXPECT_EQ(faulty, 0u);
  }
  return out;
}

Word f(Op op, float a, float b = 0, float c = 0) { return apply<float>(op, ElementType::f32, a, b, c); }
std::int32_t i(Op op, std::int32_t a, std::int32_t b = 0) {
  return from_word<std::int32_t>(apply(op, ElementType::i32, a, b));
}
std::int64_t l(Op op, std::int64_t a, std::int64_t b = 0) {
  return from_word<std::int64_t>(apply(op, ElementType::i64, a, b));
}
float nan_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(MachineArithmetic, Floats) {
  EXPECT_EQ(f(Op::neg, nan_of(0x7fc00001u)), 0xffc00001u);
  EXPECT_EQ(f(Op::neg, 0.0f), 0x80000000u);
  EXPECT_EQ(f(Op::abs, nan_of(0xff800001u)), 0x7f800001u);
  EXPECT_EQ(f(Op::sqrt, -0.0f), 0x80000000u);
  EXPECT_EQ(f(Op::canonical_nan, std::sqrt(-1.0f)), kQuietNan);
  EXPECT_EQ(f(Op::canonical_nan, nan_of(0xff800001u)), kQuietNan);
  EXPECT_EQ(f(Op::canonical_nan, -kInf), to_word(-kInf));
  EXPECT_EQ(f(Op::trunc, -0.75f), 0x80000000u);
  EXPECT_EQ(f(Op::trunc, -2.5f), to_word(-2.0f));
  EXPECT_EQ(f(Op::add, 0x1p24f, 1.0f), to_word(0x1p24f));
  EXPECT_EQ(f(Op::sub, 0x1p-126f, 0x1p-127f), to_word(0x1p-127f));
  EXPECT_EQ(f(Op::mul, 0x1p-100f, 0x1p-40f), to_word(0x1p-140f));
  EXPECT_EQ(f(Op::div, 1.0f, 0.0f), to_word(kInf));
  EXPECT_EQ(f(Op::fma, 0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f), to_word(0x1p-46f));
}

TEST(MachineArithmetic, MinimumAndMaximum) {
  EXPECT_EQ(f(Op::min, 0.0f, -0.0f), 0x80000000u);
  EXPECT_EQ(f(Op::min, -0.0f, 0.0f), 0x80000000u);
  EXPECT_EQ(f(Op::max, -0.0f, 0.0f), 0u);
  EXPECT_EQ(f(Op::max, 0.0f, -0.0f), 0u);
  EXPECT_EQ(f(Op::max, 1.0f, kInf), to_word(kInf));
  EXPECT_EQ(f(Op::min, 1.0f, 2.0f), to_word(1.0f));
  for (const Op op : {Op::min, Op::max}) {
    EXPECT_TRUE(std::isnan(from_word<float>(f(op, nan_of(kQuietNan), -kInf))));
    EXPECT_TRUE(std::isnan(from_word<float>(f(op, kInf, nan_of(kQuietNan)))));
  }
  EXPECT_EQ(i(Op::min, -3, 2), -3);
  EXPECT_EQ(l(Op::max, kMin64, 2), 2);
}

TEST(MachineArithmetic, Comparisons) {
  const float nan = nan_of(kQuietNan);
  for (const Op op : {Op::eq, Op::lt, Op::le, Op::gt, Op::ge}) {
    EXPECT_EQ(f(op, nan, nan), 0u);
    EXPECT_EQ(f(op, 1.0f, nan), 0u);
  }
  EXPECT_EQ(f(Op::ne, nan, nan), 1u);
  EXPECT_EQ(f(Op::eq, 0.0f, -0.0f), 1u);
  EXPECT_EQ(apply<std::int32_t>(Op::lt, ElementType::i32, -1, 1), 1u);
  EXPECT_EQ(apply<std::int64_t>(Op::ge, ElementType::i64, kMin64, 0), 0u);
  EXPECT_EQ(apply<std::int32_t>(Op::le, ElementType::i32, 4, 4), 1u);
  EXPECT_EQ(apply<std::int32_t>(Op::gt, ElementType::i32, 4, 4), 0u);
}

TEST(MachineArithmetic, Integers) {
  EXPECT_EQ(i(Op::add, std::numeric_limits<std::int32_t>::max(), 1), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(apply<std::int32_t>(Op::add, ElementType::i32, -1, 0), 0xffffffffu);
  EXPECT_EQ(l(Op::neg, kMin64), kMin64);
  EXPECT_EQ(l(Op::mul, kMin64, -1), kMin64);
  EXPECT_EQ(i(Op::sub, -5, 7), -12);
  EXPECT_EQ(i(Op::div, -7, 2), -3);
  EXPECT_EQ(i(Op::rem, -7, 2), -1);
  EXPECT_EQ(l(Op::div, kMin64, 3), kMin64 / 3);
  EXPECT_EQ(i(Op::shift_left, -1, 31), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(i(Op::shift_right, -8, 2), -2);
  EXPECT_EQ(l(Op::shift_right, kMin64, 63), -1);
  EXPECT_EQ(i(Op::bit_not, 5), -6);
  EXPECT_EQ(l(Op::bit_and, 12, 10), 8);
  EXPECT_EQ(i(Op::bit_or, 12, 10), 14);
  EXPECT_EQ(i(Op::bit_xor, 12, 10), 6);
  for (const std::int32_t wrong : {0, -1}) {
    for (const Op op : {Op::div, Op::rem}) {
      LaneMask bad = 0;
      apply<std::int32_t>(op, ElementType::i32, 1, wrong, 0, &bad);
      EXPECT_EQ(bad, 1u);
    }
  }
  LaneMask bad = 0;
  apply<std::int32_t>(Op::shift_left, ElementType::i32, 1, 32, 0, &bad);
  EXPECT_EQ(bad, 1u);
}

TEST(MachineArithmetic, Booleans) {
  EXPECT_EQ(apply<Word>(Op::bit_not, ElementType::boolean, 0), 1u);
  EXPECT_EQ(apply<Word>(Op::bit_xor, ElementType::boolean, 1, 1), 0u);
  EXPECT_EQ(apply<Word>(Op::bit_and, ElementType::boolean, 1, 1), 1u);
  EXPECT_EQ(apply<Word>(Op::bit_or, ElementType::boolean, 0, 0), 0u);
  EXPECT_EQ(apply<Word>(Op::select, ElementType::f32, 1, 7, 9), 7u);
  EXPECT_EQ(apply<Word>(Op::select, ElementType::f32, 0, 7, 9), 9u);
  EXPECT_THROW(apply<Word>(Op::add, ElementType::boolean, 1, 1), InternalError);
}

Word converted(ElementType from, ElementType to, Word in) {
  Word out = 0;
  convert(from, to, {.width = 1, .mask = 1, .a = &in, .out = &out});
  return out;
}

TEST(MachineArithmetic, Conversions) {
  const auto to_int = [](float a) {
    return from_word<std::int32_t>(converted(ElementType::f32, ElementType::i32, to_word(a)));
  };
  EXPECT_EQ(to_int(-2.9f), -2);
  EXPECT_EQ(to_int(nan_of(kQuietNan)), 0);
  EXPECT_EQ(to_int(0x1p31f), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(to_int(-kInf), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(to_int(-0x1p31f), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(converted(ElementType::i32, ElementType::f32, to_word(std::int32_t{0x1000001})), to_word(0x1p24f));
  EXPECT_EQ(converted(ElementType::i32, ElementType::f32, to_word(std::int32_t{0x1000003})), to_word(0x1.000004p24f));
  // Rounding first to double would end at 2^54.
  EXPECT_EQ(converted(ElementType::i64, ElementType::f32, (1ll << 54) + (1ll << 30) + 1), to_word(0x1.000002p54f));
  EXPECT_EQ(converted(ElementType::i32, ElementType::i64, to_word(std::int32_t{-3})), to_word(std::int64_t{-3}));
  EXPECT_EQ(converted(ElementType::i64, ElementType::i32, to_word(std::int64_t{-3})), 0xfffffffdu);
  EXPECT_EQ(converted(ElementType::boolean, ElementType::i32, 1), 1u);
  EXPECT_THROW(converted(ElementType::f32, ElementType::i64, 0), InternalError);
}

TEST(MachineArithmetic, LeavesOtherLanesAlone) {
  const Word in[4] = {1, 2, 3, 4};
  Word out[4] = {9, 9, 9, 9};
  compute(Op::neg, ElementType::i64, {.width = 4, .mask = 0b1010, .a = in, .out = out});
  EXPECT_EQ(out[0], 9u);
  EXPECT_EQ(out[1], to_word(std::int64_t{-2}));
  EXPECT_EQ(out[2], 9u);
}

}  // namespace
}  // namespace lanefold::machine
