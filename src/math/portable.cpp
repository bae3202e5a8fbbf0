#include "math/portable.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "base/diagnostic.h"

namespace lanefold::math {
namespace {

// clang-format off: braces that open in one macro and close in another
// First reading: the names of each function's values, in order, so that the argument is 0 and step k − 1 gives k.
#define PORTABLE_FUNCTION(function) namespace function##_values { enum Name : std::uint16_t { x,
#define PORTABLE_F32(name, pattern, decimal) name,
#define PORTABLE_I32(name, pattern) name,
#define PORTABLE_STEP(name, operation, ...) name,
#define PORTABLE_END(function) }; }
#include "math/portable.def"

// Second reading: the steps. A misspelt operand or operation does not compile.
#define PORTABLE_FUNCTION(function) \
  namespace function##_table { using namespace function##_values; constexpr Step kSteps[] = {
#define PORTABLE_F32(name, pattern, decimal) {StepOp::constant_f32, 0, 0, 0, pattern},
#define PORTABLE_I32(name, pattern) {StepOp::constant_i32, 0, 0, 0, pattern},
#define PORTABLE_STEP(name, operation, ...) {StepOp::operation, __VA_ARGS__},
#define PORTABLE_END(function) }; }
#include "math/portable.def"
// clang-format on

// Third reading: the decimal beside each pattern is the same number.
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
#define PORTABLE_F32(name, pattern, decimal) \
  static_assert(std::bit_cast<std::uint32_t>(decimal) == (pattern), #name " is " #decimal);
#include "math/portable.def"

/// One 32-bit word, whatever its type: an f32's bits, an integer, or a boolean as 0 or 1.
struct WordDomain {
  using Value = std::uint32_t;

  static float f32(Value word) { return std::bit_cast<float>(word); }
  static Value word(float value) { return std::bit_cast<Value>(value); }
  static std::int32_t i32(Value word) { return static_cast<std::int32_t>(word); }

  Value constant_f32(std::uint32_t bits) { return bits; }
  Value constant_i32(std::uint32_t bits) { return bits; }

  Value apply(StepOp op, Value a, Value b, Value c) {
    switch (op) {
      case StepOp::constant_f32:
      case StepOp::constant_i32: break;
      case StepOp::add: return word(f32(a) + f32(b));
      case StepOp::sub: return word(f32(a) - f32(b));
      case StepOp::mul: return word(f32(a) * f32(b));
      case StepOp::div: return word(f32(a) / f32(b));
      case StepOp::fma: return word(std::fma(f32(a), f32(b), f32(c)));
      case StepOp::neg: return a ^ 0x80000000u;
      case StepOp::abs: return a & 0x7fffffffu;
      case StepOp::sqrt: return word(std::sqrt(f32(a)));
      case StepOp::trunc: return word(std::trunc(f32(a)));
      case StepOp::lt: return f32(a) < f32(b);
      case StepOp::le: return f32(a) <= f32(b);
      case StepOp::gt: return f32(a) > f32(b);
      case StepOp::ge: return f32(a) >= f32(b);
      case StepOp::eq: return f32(a) == f32(b);
      case StepOp::ne: return f32(a) != f32(b);
      case StepOp::select: return a != 0 ? b : c;
      case StepOp::iadd: return a + b;
      case StepOp::isub: return a - b;
      case StepOp::imul: return a * b;
      case StepOp::iand: return a & b;
      case StepOp::ior: return a | b;
      case StepOp::ixor: return a ^ b;
      case StepOp::ishl: return a << (b & 31u);
      case StepOp::ishr: return static_cast<Value>(i32(a) >> (b & 31u));
      case StepOp::ilt: return i32(a) < i32(b);
      case StepOp::igt: return i32(a) > i32(b);
      case StepOp::ieq: return a == b;
      case StepOp::to_i32: return static_cast<Value>(static_cast<std::int32_t>(f32(a)));
      case StepOp::to_f32: return word(static_cast<float>(i32(a)));
      case StepOp::bits_of:
      case StepOp::from_bits: return a;
    }
    internal_error("step operation " + std::to_string(static_cast<int>(op)) + " cannot be applied");
  }
};

[[noreturn]] void unknown_function(Function function) {
  internal_error("no portable function has the number " + std::to_string(static_cast<int>(function)));
}

}  // namespace

std::string_view function_name(Function function) {
  switch (function) {
#define PORTABLE_FUNCTION(function) \
  case Function::function: return #function;
#include "math/portable.def"
  }
  unknown_function(function);
}

std::span<const Step> steps(Function function) {
  switch (function) {
#define PORTABLE_FUNCTION(function) \
  case Function::function: return function##_table::kSteps;
#include "math/portable.def"
  }
  unknown_function(function);
}

float evaluate_f32(Function function, float argument) {
  WordDomain domain;
  return std::bit_cast<float>(evaluate(function, domain, std::bit_cast<std::uint32_t>(argument)));
}

}  // namespace lanefold::math
