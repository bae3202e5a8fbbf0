// The operations of row programs on numbers, over a codec that says how one number is held and rounded.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/diagnostic.h"
#include "base/element_type.h"
#include "base/load_store.h"
#include "ir/program.h"
#include "math/portable.h"
#include "oracle/domain.h"

namespace lanefold::oracle {

/// IEEE 754-2019 minimum: NaN wins, −0 < +0.
template <class Real>
Real minimum(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// IEEE 754-2019 maximum: NaN wins, −0 < +0.
template <class Real>
Real maximum(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// To an integral value, halves away from zero.
template <class Real>
Real round_half_away(Real x) {
  const Real t = std::trunc(x);
  return std::fabs(x - t) >= Real(0.5) ? t + std::copysign(Real(1), x) : t;
}

/// round(n / d) clamped to ±127; 0 where d is 0 or NaN, or the quotient is NaN.
template <class Real>
std::int32_t quantize(Real n, Real d) {
  if (d == Real(0)) return 0;
  const Real quotient = n / d;
  if (std::isnan(quotient)) return 0;
  const Real code = round_half_away(quotient);
  return static_cast<std::int32_t>(code > Real(127) ? Real(127) : code < Real(-127) ? Real(-127) : code);
}

/// Truncates, saturates at the ends of i32; NaN gives 0.
template <class Real>
std::int32_t truncate_to_i32(Real x) {
  if (std::isnan(x)) return 0;
  if (x >= Real(2147483648.0)) return std::numeric_limits<std::int32_t>::max();
  if (x <= Real(-2147483648.0)) return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int32_t>(x);
}

/// A domain of numbers. The codec offers `Value` (one value of any register type), `Real`, real(v), from_real(r),
/// integer(v), from_integer(i), `load_real(address, storage)`, and
/// function(f, operand, count, out): an elementary function of `count` values. Booleans are the integers 0 and 1.
template <class Codec>
class NumericDomain {
 public:
  using Value = typename Codec::Value;
  using Real = typename Codec::Real;

  /// A real literal is the f32 that a compiled program holds.
  Value constant(double literal, ElementType type) {
    if (type == ElementType::f32) return Codec::from_real(static_cast<Real>(static_cast<float>(literal)));
    return Codec::from_integer(static_cast<std::int32_t>(literal));
  }
  Value parameter(std::uint32_t, float value) { return Codec::from_real(static_cast<Real>(value)); }

  Value load(const Source& source) {
    if (is_float(source.storage)) return Codec::from_real(Codec::load_real(source.address, source.storage));
    return Codec::from_integer(static_cast<std::int32_t>(load_element_integer(source.address, source.storage)));
  }

  Value pick(const Lanes<Value>& run, std::int64_t count, const Value& index, ElementType type) {
    const std::int64_t i = Codec::integer(index);
    if (i >= 0 && i < count) return run[i];
    return type == ElementType::f32 ? Codec::from_real(std::numeric_limits<Real>::quiet_NaN()) : Codec::from_integer(0);
  }

  void apply(const Operation& operation, const Lanes<Value>* operands, std::int64_t count, Value* out) {
    using ir::Op;
    switch (operation.op) {
      case Op::select:
        for (std::int64_t i = 0; i < count; ++i)
          out[i] = Codec::integer(operands[0][i]) != 0 ? operands[1][i] : operands[2][i];
        return;
      case Op::convert: return convert(operation, operands, count, out);
      case Op::quantize:
        for (std::int64_t i = 0; i < count; ++i)
          out[i] = Codec::from_integer(quantize(Codec::real(operands[0][i]), Codec::real(operands[1][i])));
        return;
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
      case Op::eq:
      case Op::ne:
        if (operation.operand_type == ElementType::f32) {
          compare<Real>(operation.op, operands, count, out, Codec::real);
        } else {
          compare<std::int32_t>(operation.op, operands, count, out, Codec::integer);
        }
        return;
      default: break;
    }
    if (operation.type == ElementType::f32) {
      apply_real(operation.op, operands, count, out);
    } else {
      apply_integer(operation, operands, count, out);
    }
  }

 private:
  template <class F>
  static void map_real(const Lanes<Value>* operands, std::int64_t count, Value* out, F f) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = Codec::from_real(f(Codec::real(operands[0][i])));
  }
  template <class F>
  static void zip_real(const Lanes<Value>* operands, std::int64_t count, Value* out, F f) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = Codec::from_real(f(Codec::real(operands[0][i]), Codec::real(operands[1][i])));
  }
  /// Integers pass through int64, so that the low 32 bits are what wrapping arithmetic gives.
  template <class F>
  static void map_integer(const Lanes<Value>* operands, std::int64_t count, Value* out, F f) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = Codec::from_integer(static_cast<std::int32_t>(f(std::int64_t{Codec::integer(operands[0][i])})));
  }
  template <class F>
  static void zip_integer(const Lanes<Value>* operands, std::int64_t count, Value* out, F f) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = Codec::from_integer(static_cast<std::int32_t>(
          f(std::int64_t{Codec::integer(operands[0][i])}, std::int64_t{Codec::integer(operands[1][i])})));
  }

  template <class T, class Read>
  static void compare(ir::Op op, const Lanes<Value>* operands, std::int64_t count, Value* out, Read read) {
    auto each = [&](auto holds) {
      for (std::int64_t i = 0; i < count; ++i)
        out[i] = Codec::from_integer(holds(T{read(operands[0][i])}, T{read(operands[1][i])}) ? 1 : 0);
    };
    using ir::Op;
    switch (op) {
      case Op::lt: return each([](T a, T b) { return a < b; });
      case Op::le: return each([](T a, T b) { return a <= b; });
      case Op::gt: return each([](T a, T b) { return a > b; });
      case Op::ge: return each([](T a, T b) { return a >= b; });
      case Op::eq: return each([](T a, T b) { return a == b; });
      default: return each([](T a, T b) { return a != b; });
    }
  }

  static void convert(const Operation& operation, const Lanes<Value>* operands, std::int64_t count, Value* out) {
    const bool from_real = operation.operand_type == ElementType::f32;
    for (std::int64_t i = 0; i < count; ++i) {
      const Value& value = operands[0][i];
      if (operation.type == ElementType::f32) {
        out[i] = from_real ? value : Codec::from_real(static_cast<Real>(Codec::integer(value)));
      } else if (operation.type == ElementType::boolean) {
        out[i] = Codec::from_integer(from_real ? Codec::real(value) != Real(0) : Codec::integer(value) != 0);
      } else {
        out[i] = from_real ? Codec::from_integer(truncate_to_i32(Codec::real(value))) : value;
      }
    }
  }

  static void apply_real(ir::Op op, const Lanes<Value>* operands, std::int64_t count, Value* out) {
    using ir::Op;
    switch (op) {
      case Op::neg: return map_real(operands, count, out, [](Real x) { return -x; });
      case Op::abs: return map_real(operands, count, out, [](Real x) { return std::fabs(x); });
      case Op::sqrt: return map_real(operands, count, out, [](Real x) { return std::sqrt(x); });
      case Op::trunc: return map_real(operands, count, out, [](Real x) { return std::trunc(x); });
      case Op::round: return map_real(operands, count, out, round_half_away<Real>);
      case Op::exp: return Codec::function(math::Function::exp, operands[0], count, out);
      case Op::log: return Codec::function(math::Function::log, operands[0], count, out);
      case Op::tanh: return Codec::function(math::Function::tanh, operands[0], count, out);
      case Op::sigmoid: return Codec::function(math::Function::sigmoid, operands[0], count, out);
      case Op::erf: return Codec::function(math::Function::erf, operands[0], count, out);
      case Op::add: return zip_real(operands, count, out, [](Real a, Real b) { return a + b; });
      case Op::sub: return zip_real(operands, count, out, [](Real a, Real b) { return a - b; });
      case Op::mul: return zip_real(operands, count, out, [](Real a, Real b) { return a * b; });
      case Op::div: return zip_real(operands, count, out, [](Real a, Real b) { return a / b; });
      case Op::min: return zip_real(operands, count, out, minimum<Real>);
      case Op::max: return zip_real(operands, count, out, maximum<Real>);
      case Op::fma:
        for (std::int64_t i = 0; i < count; ++i)
          out[i] = Codec::from_real(
              std::fma(Codec::real(operands[0][i]), Codec::real(operands[1][i]), Codec::real(operands[2][i])));
        return;
      default: internal_error("oracle: no f32 meaning of " + std::string(ir::op_name(op)));
    }
  }

  static void apply_integer(const Operation& operation, const Lanes<Value>* operands, std::int64_t count, Value* out) {
    using ir::Op;
    using I = std::int64_t;
    switch (operation.op) {
      case Op::logical_not: return map_integer(operands, count, out, [](I x) { return I{x == 0}; });
      case Op::logical_and: return zip_integer(operands, count, out, [](I a, I b) { return I{a != 0 && b != 0}; });
      case Op::logical_or: return zip_integer(operands, count, out, [](I a, I b) { return I{a != 0 || b != 0}; });
      default: break;
    }
    if (operation.type != ElementType::i32)
      internal_error("oracle: no boolean meaning of " + std::string(ir::op_name(operation.op)));
    switch (operation.op) {
      case Op::neg: return map_integer(operands, count, out, [](I x) { return -x; });
      case Op::abs: return map_integer(operands, count, out, [](I x) { return x < 0 ? -x : x; });
      case Op::add: return zip_integer(operands, count, out, [](I a, I b) { return a + b; });
      case Op::sub: return zip_integer(operands, count, out, [](I a, I b) { return a - b; });
      case Op::mul: return zip_integer(operands, count, out, [](I a, I b) { return a * b; });
      case Op::min: return zip_integer(operands, count, out, [](I a, I b) { return a < b ? a : b; });
      case Op::max: return zip_integer(operands, count, out, [](I a, I b) { return a > b ? a : b; });
      default: internal_error("oracle: no i32 meaning of " + std::string(ir::op_name(operation.op)));
    }
  }
};

}  // namespace lanefold::oracle
