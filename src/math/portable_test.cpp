#include "math/portable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "math/test_portable_reference.h"

namespace lanefold::math {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeastSubnormal = std::numeric_limits<float>::denorm_min();

// --- The tables

enum class Type : std::uint8_t { f32, i32, boolean };

struct Signature {
  int operands;
  Type operand;
  Type result;
};

Signature signature(StepOp op) {
  switch (op) {
    case StepOp::constant_f32: return {0, Type::f32, Type::f32};
    case StepOp::constant_i32: return {0, Type::i32, Type::i32};
    case StepOp::add:
    case StepOp::sub:
    case StepOp::mul:
    case StepOp::div: return {2, Type::f32, Type::f32};
    case StepOp::fma: return {3, Type::f32, Type::f32};
    case StepOp::neg:
    case StepOp::abs:
    case StepOp::sqrt:
    case StepOp::trunc: return {1, Type::f32, Type::f32};
    case StepOp::lt:
    case StepOp::le:
    case StepOp::gt:
    case StepOp::ge:
    case StepOp::eq:
    case StepOp::ne: return {2, Type::f32, Type::boolean};
    case StepOp::select: return {3, Type::boolean, Type::f32};  // the rest is checked where it is used
    case StepOp::iadd:
    case StepOp::isub:
    case StepOp::imul:
    case StepOp::iand:
    case StepOp::ior:
    case StepOp::ixor:
    case StepOp::ishl:
    case StepOp::ishr: return {2, Type::i32, Type::i32};
    case StepOp::ilt:
    case StepOp::igt:
    case StepOp::ieq: return {2, Type::i32, Type::boolean};
    case StepOp::to_i32:
    case StepOp::bits_of: return {1, Type::f32, Type::i32};
    case StepOp::to_f32:
    case StepOp::from_bits: return {1, Type::i32, Type::f32};
  }
  ADD_FAILURE() << "no signature for operation " << static_cast<int>(op);
  return {};
}

/// What is wrong with a table, or nothing.
std::optional<std::string> table_fault(std::span<const Step> table) {
  std::vector<Type> types{Type::f32};
  std::vector<bool> used{false};
  for (std::size_t index = 0; index < table.size(); ++index) {
    const Step& step = table[index];
    const Signature expected = signature(step.op);
    const std::uint16_t operands[] = {step.a, step.b, step.c};
    const std::string place = "step " + std::to_string(index);
    for (int i = 0; i < 3; ++i) {
      if (i >= expected.operands) {
        if (operands[i] != 0) return place + " has an operand too many";
        continue;
      }
      if (operands[i] > index) return place + " uses a later value";
      used[operands[i]] = true;
      if ((step.op != StepOp::select || i == 0) && types[operands[i]] != expected.operand) {
        return place + " has an operand of the wrong type";
      }
    }
    Type result = expected.result;
    if (step.op == StepOp::select) {
      if (types[step.b] != types[step.c]) return place + " selects between two types";
      result = types[step.b];
    }
    if (step.op == StepOp::ishl || step.op == StepOp::ishr) {
      const Step& count = table[step.b == 0 ? 0 : step.b - 1u];
      if (count.op != StepOp::constant_i32 || count.bits > 31) return place + " shifts by no constant in 0..31";
    }
    if (expected.operands > 0 && step.bits != 0) return place + " carries bits but is no constant";
    types.push_back(result);
    used.push_back(false);
  }
  if (table.empty() || types.back() != Type::f32) return "the result is no f32";
  for (std::size_t value = 0; value + 1 < used.size(); ++value) {
    if (!used[value]) return "value " + std::to_string(value) + " is never used";
  }
  return std::nullopt;
}

TEST(PortableTable, EveryFunctionIsWellFormed) {
  for (const Function function : kFunctions) {
    EXPECT_EQ(table_fault(steps(function)), std::nullopt) << function_name(function);
  }
}

TEST(PortableTable, FaultsAreFound) {
  using Table = std::vector<Step>;
  const Step one{StepOp::constant_f32, 0, 0, 0, 0x3f800000};
  EXPECT_EQ(table_fault(Table{one, {StepOp::add, 0, 1}}), std::nullopt);
  EXPECT_NE(table_fault(Table{}), std::nullopt);
  EXPECT_NE(table_fault(Table{one, {StepOp::add, 0, 2}}), std::nullopt);        // itself
  EXPECT_NE(table_fault(Table{one, {StepOp::add, 0, 0}}), std::nullopt);        // an idle constant
  EXPECT_NE(table_fault(Table{one, {StepOp::iadd, 0, 1}}), std::nullopt);       // f32 as an integer
  EXPECT_NE(table_fault(Table{one, {StepOp::lt, 0, 1}}), std::nullopt);         // a boolean result
  EXPECT_NE(table_fault(Table{one, {StepOp::neg, 0, 1}}), std::nullopt);        // one operand too many
  EXPECT_NE(table_fault(Table{one, {StepOp::select, 0, 0, 1}}), std::nullopt);  // f32 as a condition
  EXPECT_NE(table_fault(Table{{StepOp::bits_of, 0}, {StepOp::ishl, 1, 1}, {StepOp::from_bits, 2}}), std::nullopt);
}

TEST(PortableTable, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Function function : kFunctions) names.insert(function_name(function));
  EXPECT_EQ(names, (std::set<std::string_view>{"exp", "log", "tanh", "sigmoid", "erf"}));
}

// --- Special values

void expect_value(Function function, float argument, float expected) {
  const float result = evaluate_f32(function, argument);
  EXPECT_TRUE(special_is_right(result, expected))
      << function_name(function) << "(" << argument << ") = " << result << ", expected " << expected;
}

TEST(PortableSpecial, NaNGivesNaN) {
  for (const Function function : kFunctions) {
    for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffbfffffu, 0x7fffffffu}) {
      EXPECT_TRUE(std::isnan(evaluate_f32(function, std::bit_cast<float>(bits)))) << function_name(function) << bits;
    }
  }
}

TEST(PortableSpecial, InfinitiesZerosAndTheEndsOfTheRange) {
  for (const float zero : {0.0f, -0.0f}) {
    expect_value(Function::exp, zero, 1);
    expect_value(Function::log, zero, -kInfinity);
    expect_value(Function::tanh, zero, zero);
    expect_value(Function::sigmoid, zero, 0.5f);
    expect_value(Function::erf, zero, zero);
  }
  expect_value(Function::exp, kInfinity, kInfinity);
  expect_value(Function::exp, -kInfinity, 0);
  expect_value(Function::exp, 3e38f, kInfinity);
  expect_value(Function::exp, -3e38f, 0);
  expect_value(Function::exp, std::nextafter(0x1.62e43p+6f, 100.0f), kInfinity);  // the least argument that overflows
  EXPECT_TRUE(std::isfinite(evaluate_f32(Function::exp, 0x1.62e42ep+6f)));
  expect_value(Function::exp, -0x1.9d1da0p+6f, kLeastSubnormal);  // 2^−149 to the nearest
  expect_value(Function::log, 1, 0);
  expect_value(Function::log, kInfinity, kInfinity);
  expect_value(Function::log, -kInfinity, kNaN);
  expect_value(Function::log, -1, kNaN);
  expect_value(Function::log, -kLeastSubnormal, kNaN);
  for (const Function function : {Function::tanh, Function::erf}) {
    for (const float large : {kInfinity, 3e38f, 20.0f}) {
      expect_value(function, large, 1);
      expect_value(function, -large, -1);
    }
  }
  expect_value(Function::tanh, kLeastSubnormal, kLeastSubnormal);
  expect_value(Function::tanh, -kLeastSubnormal, -kLeastSubnormal);
  expect_value(Function::sigmoid, kInfinity, 1);
  expect_value(Function::sigmoid, -kInfinity, 0);
  expect_value(Function::sigmoid, -3e38f, 0);
  expect_value(Function::sigmoid, -0x1.9d1da0p+6f, kLeastSubnormal);
}

// --- Error against MPFR

TEST(PortableReference, ErrorsAreCountedInTheExactValuesBinade) {
  EXPECT_EQ(ulp_error(1.0f, 1.0), 0);
  EXPECT_EQ(ulp_error(0x1.000002p0f, 1.0), 1);
  EXPECT_EQ(ulp_error(1.0f, 1.0 - 0x1p-24), 1);
  EXPECT_EQ(ulp_error(0, 0x1p-149), 1);
  EXPECT_EQ(ulp_error(std::numeric_limits<float>::max(), 0x1p128), 1);
  EXPECT_EQ(ulp_error(kInfinity, 1e300), 0);
  EXPECT_EQ(ulp_error(kNaN, 1.0), HUGE_VAL);
}

/// The ranges that strain a function: subnormal and overflowing results, the seams between its pieces, cancellation.
std::vector<std::pair<float, float>> strained_ranges(Function function) {
  switch (function) {
    case Function::exp_nonpositive:
    case Function::exp: return {{-104.5f, -86.0f}, {88.0f, 89.5f}, {-1.1f, 1.1f}, {-104.0f, 89.0f}};
    case Function::log: return {{0.6f, 1.5f}, {0.2f, 4.0f}, {0.0f, 0x1p-120f}};
    case Function::tanh: return {{0.6f, 0.8f}, {0.0f, 1.5f}, {8.0f, 10.5f}};
    case Function::sigmoid: return {{-104.5f, -85.0f}, {-1.0f, 1.0f}, {-20.0f, 20.0f}};
    case Function::erf: return {{0.9f, 1.1f}, {0.0f, 2.0f}, {3.5f, 4.2f}};
  }
  return {};
}

class PortableError : public testing::TestWithParam<std::pair<Function, double>> {};

TEST_P(PortableError, StaysWithinTheBoundOverAllExponents) {
  const auto [function, bound] = GetParam();
  double worst = 0;
  float worst_argument = 0;
  const auto measure = [&](float argument) {
    const float result = evaluate_f32(function, argument);
    const double exact = exact_value(function, argument);
    if (is_special(argument, exact)) {
      if (!special_is_right(result, exact)) {
        ADD_FAILURE() << function_name(function) << "(" << argument << ") = " << result << ", expected " << exact;
      }
      return;
    }
    const double error = ulp_error(result, exact);
    if (error > worst) {
      worst = error;
      worst_argument = argument;
    }
  };

  std::mt19937 random(20240611);
  for (std::uint32_t sign_and_exponent = 0; sign_and_exponent < 512; ++sign_and_exponent) {
    const auto with_mantissa = [&](std::uint32_t mantissa) {
      return std::bit_cast<float>(sign_and_exponent << 23 | (mantissa & 0x7fffffu));
    };
    for (const std::uint32_t edge : {0u, 1u, 2u, 0x3fffffu, 0x400000u, 0x400001u, 0x7ffffeu, 0x7fffffu}) {
      measure(with_mantissa(edge));
    }
    for (int sample = 0; sample < 96; ++sample) measure(with_mantissa(random()));
  }
  for (const auto& [low, high] : strained_ranges(function)) {
    std::uniform_real_distribution<float> range(low, high);
    for (int sample = 0; sample < 30000; ++sample) measure(range(random));
  }

  EXPECT_LE(worst, bound) << "at " << worst_argument;
  EXPECT_GE(worst, 0.5) << "no argument was measured in earnest";
  std::printf("%s: at most %.4f ulp, at %.9g\n", std::string(function_name(function)).c_str(), worst,
              static_cast<double>(worst_argument));
  RecordProperty("max_ulp", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(All, PortableError,
                         testing::Values(std::pair(Function::exp, 1.0), std::pair(Function::log, 1.0),
                                         std::pair(Function::tanh, 2.0), std::pair(Function::sigmoid, 2.0),
                                         std::pair(Function::erf, 2.0)),
                         [](const auto& test) { return std::string(function_name(test.param.first)); });

// --- Shape

TEST(PortableShape, OddFunctionsAreOddAndRangesHold) {
  std::mt19937 random(7);
  for (int sample = 0; sample < 200000; ++sample) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(x)) continue;
    for (const Function function : {Function::tanh, Function::erf}) {
      const float result = evaluate_f32(function, x);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(result) ^ 0x80000000u,
                std::bit_cast<std::uint32_t>(evaluate_f32(function, -x)))
          << function_name(function) << "(" << x << ")";
      ASSERT_LE(std::fabs(result), 1.0f);
    }
    const float sigmoid = evaluate_f32(Function::sigmoid, x);
    ASSERT_TRUE(sigmoid >= 0 && sigmoid <= 1 && !std::signbit(sigmoid)) << x;
    ASSERT_TRUE(evaluate_f32(Function::exp, x) >= 0) << x;
  }
}

/// Another reading of the tables: each value is its depth, the longest chain of steps below it.
struct DepthDomain {
  using Value = int;
  int applied = 0;
  int constants = 0;
  Value constant_f32(std::uint32_t) { return ++constants, 0; }
  Value constant_i32(std::uint32_t) { return ++constants, 0; }
  Value apply(StepOp, Value a, Value b, Value c) { return ++applied, 1 + std::max({a, b, c}); }
};

TEST(PortableShape, EvaluateVisitsEveryStepOnceForAnyDomain) {
  for (const Function function : kFunctions) {
    DepthDomain domain;
    const int depth = evaluate(function, domain, 0);
    EXPECT_EQ(static_cast<std::size_t>(domain.applied + domain.constants), steps(function).size());
    EXPECT_GT(depth, 10);
    EXPECT_LE(depth, domain.applied);
  }
}

TEST(PortableShape, ExpStaysShort) {
  DepthDomain domain;
  evaluate(Function::exp, domain, 0);
  EXPECT_LE(domain.applied, 23);  // of which three change a type and cost nothing
}

}  // namespace
TEST(Portable, ExpOfNonpositiveArgumentsHasTheBitsOfExp) {
  // Every 997th pattern from −0 to −inf, all of the last binades before exp reaches 0, and NaNs.
  const auto same = [](std::uint32_t bits) {
    const float x = std::bit_cast<float>(bits);
    return std::bit_cast<std::uint32_t>(evaluate_f32(Function::exp_nonpositive, x)) ==
           std::bit_cast<std::uint32_t>(evaluate_f32(Function::exp, x));
  };
  for (std::uint32_t bits = 0x80000000u; bits <= 0xff800000u; bits += 997) ASSERT_TRUE(same(bits)) << bits;
  for (std::uint32_t bits = 0xc2a00000u; bits <= 0xc2d80000u; bits += 7) ASSERT_TRUE(same(bits)) << bits;
  EXPECT_TRUE(same(0u));
  EXPECT_TRUE(same(0xff800000u));
  for (const std::uint32_t nan : {0x7fc00000u, 0xffc00001u, 0x7f800001u, 0xffffffffu}) {
    const float result = evaluate_f32(Function::exp_nonpositive, std::bit_cast<float>(nan));
    EXPECT_TRUE(result != result);
  }
}

}  // namespace lanefold::math
