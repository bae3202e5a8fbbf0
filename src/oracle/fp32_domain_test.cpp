// Operations, loads and stores on numbers in both domains, by hand-computed rows.
#include "oracle/fp32_domain.h"

#include <cfenv>
#include <limits>

#include <gtest/gtest.h>

#include "base/narrow.h"
#include "oracle/fp64_domain.h"
#include "oracle/test_program.h"

namespace lanefold::oracle {
namespace {

using testing::bits;
using testing::Case;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr ElementType kI32 = ElementType::i32;
static_assert(Domain<Fp32Domain> && Domain<Fp64Domain>);

/// y = op(inputs…) elementwise, each operand with its storage, in a result of some type.
Case elementwise(ir::Op op, ElementType result,
                 const std::vector<std::pair<ElementType, std::vector<double>>>& inputs) {
  Case c(1, std::ssize(inputs.front().second));
  std::vector<ir::ValueId> operands;
  for (const auto& [storage, numbers] : inputs)
    operands.push_back(c.input("x" + std::to_string(operands.size()), storage, testing::kElement, numbers));
  c.store("y", c.write().add(op, result, testing::kElement, operands));
  return c;
}

void expect_reals(const Case& c, const std::vector<double>& expected) {
  const std::vector<float> exact = c.exact();
  const std::vector<double> reference = c.fp64();
  ASSERT_EQ(exact.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(bits(exact[i]), bits(canonical_nan(static_cast<float>(expected[i])))) << i;
    EXPECT_EQ(bits(canonical_nan(static_cast<float>(reference[i]))), bits(exact[i])) << i;
  }
}

void expect_integers(const Case& c, const std::vector<std::int32_t>& expected) {
  EXPECT_EQ(c.exact<std::int32_t>(), expected);
  EXPECT_EQ(c.fp64(), std::vector<double>(expected.begin(), expected.end()));
}

constexpr ElementType kF32 = ElementType::f32;

TEST(NumericDomain, MinimumAndMaximumPropagateNanAndOrderZeros) {
  const std::vector<double> a = {0.0, -0.0, kNan, 1, -kInf, 2}, b = {-0.0, 0.0, 1, kNan, kInf, 3};
  expect_reals(elementwise(ir::Op::min, kF32, {{kF32, a}, {kF32, b}}), {-0.0, -0.0, kNan, kNan, -kInf, 2});
  expect_reals(elementwise(ir::Op::max, kF32, {{kF32, a}, {kF32, b}}), {0.0, 0.0, kNan, kNan, kInf, 3});
}

TEST(NumericDomain, RoundsHalvesAwayFromZero) {
  expect_reals(
      elementwise(ir::Op::round, kF32, {{kF32, {0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.25, 8388609, kInf, kNan}}}),
      {1, -1, 2, 3, -3, 0, -0.0, 8388609, kInf, kNan});
}

TEST(NumericDomain, QuantizesWithClampAndZeros) {
  const std::vector<double> n = {63.5, -63.5, 200, -200, 5, kNan, 1, 0, kInf, -kInf, kInf, 1};
  const std::vector<double> d = {1, 1, 1, 1, 0, 1, kNan, 0, 2, 2, kInf, -0.0};
  expect_integers(elementwise(ir::Op::quantize, kI32, {{kF32, n}, {kF32, d}}),
                  {64, -64, 127, -127, 0, 0, 0, 0, 127, -127, 0, 0});
}

TEST(NumericDomain, QuantizesTheQuotientInItsOwnPrecision) {
  // The quotient lies below 1.5 by less than half an ulp of f32.
  const Case c = elementwise(ir::Op::quantize, kI32, {{kF32, {0x1.800002p+0}}, {kF32, {0x1.000002p+0}}});
  EXPECT_EQ(c.exact<std::int32_t>()[0], 2);
  EXPECT_EQ(c.fp64()[0], 1);
}

TEST(NumericDomain, ConvertsWithTruncationAndSaturation) {
  expect_integers(elementwise(ir::Op::convert, kI32, {{kF32, {1.9, -1.9, 3e9, -3e9, kInf, -kInf, kNan, -0.0}}}),
                  {1, -1, 2147483647, -2147483647 - 1, 2147483647, -2147483647 - 1, 0, 0});
  Case c = elementwise(ir::Op::convert, kF32, {{kI32, {16777217, -3}}});
  EXPECT_EQ(c.exact(), (std::vector<float>{16777216, -3}));
  EXPECT_EQ(c.fp64(), (std::vector<double>{16777217, -3}));
}

TEST(NumericDomain, WrapsIntegers) {
  const double top = 2147483647, bottom = -2147483648.0;
  expect_integers(elementwise(ir::Op::add, kI32, {{kI32, {top, bottom}}, {kI32, {1, -1}}}),
                  {-2147483647 - 1, 2147483647});
  expect_integers(elementwise(ir::Op::mul, kI32, {{kI32, {65537, top}}, {kI32, {65537, top}}}), {131073, 1});
  expect_integers(elementwise(ir::Op::neg, kI32, {{kI32, {bottom, 5}}}), {-2147483647 - 1, -5});
  expect_integers(elementwise(ir::Op::sub, kI32, {{kI32, {bottom}}, {kI32, {1}}}), {2147483647});
}

TEST(NumericDomain, ComparesNanAsUnordered) {
  const std::vector<double> a = {kNan, 1, 1, 2, -0.0}, b = {1, kNan, 1, 1, 0.0};
  const std::vector<std::pair<ir::Op, std::vector<int>>> table = {
      {ir::Op::lt, {0, 0, 0, 0, 0}}, {ir::Op::le, {0, 0, 1, 0, 1}}, {ir::Op::gt, {0, 0, 0, 1, 0}},
      {ir::Op::ge, {0, 0, 1, 1, 1}}, {ir::Op::eq, {0, 0, 1, 0, 1}}, {ir::Op::ne, {1, 1, 0, 1, 0}}};
  for (const auto& [op, expected] : table) {
    const Case c = elementwise(op, ElementType::boolean, {{kF32, a}, {kF32, b}});
    const std::vector<std::uint8_t> stored = c.exact<std::uint8_t>();
    EXPECT_EQ(std::vector<int>(stored.begin(), stored.end()), expected) << static_cast<int>(op);
    EXPECT_EQ(c.fp64(), std::vector<double>(expected.begin(), expected.end()));
  }
}

TEST(NumericDomain, RoundsEveryF32OperationOnce) {
  const float third = 1.0f / 3.0f;
  EXPECT_EQ(elementwise(ir::Op::div, kF32, {{kF32, {1}}, {kF32, {3}}}).exact()[0], third);
  EXPECT_EQ(elementwise(ir::Op::div, kF32, {{kF32, {1}}, {kF32, {3}}}).fp64()[0], 1.0 / 3.0);
  const double x = 1 + 0x1p-12;
  EXPECT_EQ(elementwise(ir::Op::fma, kF32, {{kF32, {x}}, {kF32, {x}}, {kF32, {-(1 + 0x1p-11)}}}).exact()[0], 0x1p-24f);
  EXPECT_EQ(elementwise(ir::Op::mul, kF32, {{kF32, {x}}, {kF32, {x}}}).exact()[0], 1 + 0x1p-11f);
}

TEST(NumericDomain, ElementaryFunctionsFollowTheirTables) {
  const std::vector<double> x = testing::varied_numbers(200, 4);
  const std::pair<ir::Op, math::Function> table[] = {{ir::Op::exp, math::Function::exp},
                                                     {ir::Op::log, math::Function::log},
                                                     {ir::Op::tanh, math::Function::tanh},
                                                     {ir::Op::erf, math::Function::erf},
                                                     {ir::Op::sigmoid, math::Function::sigmoid}};
  for (const auto& [op, function] : table) {
    const Case c = elementwise(op, kF32, {{kF32, x}});
    const std::vector<float> exact = c.exact();
    const std::vector<double> reference = c.fp64();
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(bits(exact[i]), bits(canonical_nan(math::evaluate_f32(function, static_cast<float>(x[i])))));
      if (std::isnan(reference[i])) {
        EXPECT_TRUE(std::isnan(exact[i]));
      } else {
        EXPECT_NEAR(static_cast<double>(exact[i]), reference[i], 4e-7 * std::fabs(reference[i]));
      }
    }
  }
}

TEST(NumericDomain, GathersInsideTheRowOnly) {
  Case c(2, 3);
  c.input("x", {10, 11, 12, 20, 21, 22});
  c.input("n", ElementType::i8, testing::kElement, {1, 2, 3, 4, 5, 6});
  const ir::ValueId index = c.input("labels", kI32, testing::kRow, {1, 3});
  c.store("y", c.write().add(ir::Op::gather, kF32, testing::kRow, {index}, 0));
  c.store("z", c.write().add(ir::Op::gather, kI32, testing::kRow, {index}, 1));
  EXPECT_EQ(c.exact()[0], 11);
  EXPECT_EQ(bits(c.exact()[1]), kNanF32);
  EXPECT_TRUE(std::isnan(c.fp64()[1]));
  EXPECT_EQ(c.exact<std::int32_t>(ir::Order::canonical, 1), (std::vector<std::int32_t>{2, 0}));
}

TEST(NumericDomain, SelectsAndCombinesBooleans) {
  Case c(1, 4);
  const ir::ValueId x = c.input("x", {1, -2, kNan, 0}), zero = c.write().constant(0);
  const ir::ValueId positive = c.write().add(ir::Op::gt, ElementType::boolean, testing::kElement, {x, zero});
  const ir::ValueId negative = c.write().add(ir::Op::lt, ElementType::boolean, testing::kElement, {x, zero});
  const ir::ValueId either =
      c.write().add(ir::Op::logical_or, ElementType::boolean, testing::kElement, {positive, negative});
  const ir::ValueId neither = c.write().add(ir::Op::logical_not, ElementType::boolean, testing::kElement, {either});
  const ir::ValueId both =
      c.write().add(ir::Op::logical_and, ElementType::boolean, testing::kElement, {either, neither});
  c.store("y", c.write().real(ir::Op::select, {either, x, zero}));
  c.store("n", neither);
  c.store("b", both);
  EXPECT_EQ(c.exact(), (std::vector<float>{1, -2, 0, 0}));
  EXPECT_EQ(c.exact<std::uint8_t>(ir::Order::canonical, 1), (std::vector<std::uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ(c.exact<std::uint8_t>(ir::Order::canonical, 2), (std::vector<std::uint8_t>{0, 0, 0, 0}));
}

TEST(NumericDomain, LiteralsAndParametersAreF32) {
  Case c(1, 1);
  c.input("x", {1});
  c.program.parameters.push_back({"eps", 1e-6, {}});
  c.bindings.parameters = {1e-6f};
  c.store("y", c.write().constant(0.1));
  c.store("z", c.write().add(ir::Op::parameter, kF32, testing::kUniform, {}, 0));
  EXPECT_EQ(c.fp64(0)[0], static_cast<double>(0.1f));
  EXPECT_EQ(c.fp64(1)[0], static_cast<double>(1e-6f));
  EXPECT_EQ(c.exact(ir::Order::canonical, 1)[0], 1e-6f);
}

TEST(NumericDomain, KnowsColumnIndexAndCount) {
  Case c(2, 3);
  c.input("x", {1, 2, 3, 4, 5, 6});
  c.store("y", c.write().add(ir::Op::col, kI32, testing::kElement, {}));
  c.store("n", c.write().add(ir::Op::cols, kI32, testing::kUniform, {}));
  EXPECT_EQ(c.exact<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(c.fp64(1), (std::vector<double>{3, 3}));
}

TEST(Stores, NarrowOnceAndWriteOneNan) {
  Case c(1, 3);
  const ir::ValueId x = c.input("x", {1 + 0x1p-11, kNan, 0x1p-24});
  c.store("h", ElementType::f16, testing::kElement, x);
  c.store("b", ElementType::bf16, testing::kElement, x);
  c.store("e", ElementType::e4m3, testing::kElement, x);
  c.store("y", x);
  const std::byte negative_nan[] = {std::byte{1}, std::byte{0}, std::byte{0x80}, std::byte{0xff}};
  std::copy(std::begin(negative_nan), std::end(negative_nan), c.memory[0].begin() + 4);
  EXPECT_EQ(c.exact<std::uint16_t>(ir::Order::canonical, 0), (std::vector<std::uint16_t>{0x3c00, kNanF16, 1}));
  EXPECT_EQ(c.exact<std::uint16_t>(ir::Order::canonical, 1), (std::vector<std::uint16_t>{0x3f80, kNanBf16, 0x3380}));
  EXPECT_EQ(c.exact<std::uint8_t>(ir::Order::canonical, 2), (std::vector<std::uint8_t>{0x38, kNanFp8, 0}));
  EXPECT_EQ(bits(c.exact(ir::Order::canonical, 3)[1]), kNanF32);
}

TEST(Stores, WriteIntegersOfEveryWidth) {
  Case c(1, 2);
  const ir::ValueId x = c.input("x", kI32, testing::kElement, {-5, 100});
  c.store("q", ElementType::i8, testing::kElement, x);
  c.store("w", ElementType::i64, testing::kElement, x);
  EXPECT_EQ(c.exact<std::int8_t>(ir::Order::canonical, 0), (std::vector<std::int8_t>{-5, 100}));
  EXPECT_EQ(c.exact<std::int64_t>(ir::Order::canonical, 1), (std::vector<std::int64_t>{-5, 100}));
  c.store("bad", kF32, testing::kElement, x);
  EXPECT_THROW(c.bytes(ir::Order::canonical), InternalError);
  EXPECT_THROW(c.bytes(ir::Order::free), InternalError);
}

TEST(Loads, FollowStridesOfEitherSign) {
  Case c(2, 3);
  c.store("y", c.input("x", {1, 2, 3, 4, 5, 6}));
  View& view = c.bindings.inputs[0];
  view.data += 5 * sizeof(float), view.row_stride = -3, view.column_stride = -1;
  EXPECT_EQ(c.exact(), (std::vector<float>{6, 5, 4, 3, 2, 1}));
  view.row_stride = 0;
  EXPECT_EQ(c.exact(), (std::vector<float>{6, 5, 4, 6, 5, 4}));
}

TEST(Loads, WidenSmallFloatsAndReadRowsAndBlocks) {
  Case c(2, 4);
  const ir::ValueId x = c.input("x", ElementType::f16, testing::kElement, {1, 2, 3, 4, 5, 6, 7, 8});
  const ir::ValueId r = c.input("r", ElementType::bf16, testing::kRow, {10, 20});
  const ir::ValueId s = c.input("scale", kF32, {ir::Kind::Tag::block, 2}, {1, 2, 3, 4});
  c.store("y", c.write().real(ir::Op::fma, {x, s, r}));
  EXPECT_EQ(c.exact(), (std::vector<float>{11, 12, 16, 18, 35, 38, 48, 52}));
  EXPECT_EQ(c.fp64(), (std::vector<double>{11, 12, 16, 18, 35, 38, 48, 52}));
}

TEST(Rows, MayBeNone) {
  Case c(0, 4);
  c.store("y", c.input("x", {}));
  EXPECT_TRUE(c.exact().empty());
  EXPECT_TRUE(c.fp64().empty());
}

#if defined(__x86_64__) && defined(__GLIBC__)
TEST(Environment, IgnoresTheCallersFlushAndRounding) {
  const Case c = elementwise(ir::Op::mul, kF32, {{kF32, {0x1p-100, 1 + 0x1p-23}}, {kF32, {0x1p-40, 1 + 0x1p-23}}});
  const std::vector<float> expected = c.exact();
  std::fenv_t saved, hostile, after;
  ASSERT_EQ(std::fegetenv(&saved), 0);
  hostile = saved;
  hostile.__mxcsr |= 0x8040 | 0x4000;  // flush to zero, denormals are zero, round up
  std::fesetenv(&hostile);
  const std::vector<float> under_flush = c.exact();
  std::fegetenv(&after);
  std::fesetenv(&saved);
  EXPECT_EQ(bits(under_flush[0]), bits(0x1p-140f));
  EXPECT_EQ(bits(under_flush[1]), bits(expected[1]));
  EXPECT_EQ(after.__mxcsr & 0xe040u, 0xc040u);
}
#endif

}  // namespace
}  // namespace lanefold::oracle
