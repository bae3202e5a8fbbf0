// Expr: a value of a program or monoid under construction, with the operators of arithmetic.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/body_builder.h"

namespace lanefold::ir {

/// A handle to a value, or a number that has yet to meet one. A faulty operation is noted in the builder, whose
/// finish() returns it; operations on its result are skipped.
class Expr {
 public:
  Expr(BodyBuilder& body, ValueId id) : body_(&body), id_(id) {}
  /// A number; one of integer type becomes i32 where an i32 is wanted.
  template <std::floating_point T>
  Expr(T value) : number_{static_cast<float>(value), std::nullopt} {}
  template <std::integral T>
  Expr(T value) : number_{static_cast<float>(value), std::nullopt} {
    if (std::in_range<std::int32_t>(value)) number_.integer = static_cast<std::int32_t>(value);
  }
  Expr(bool) = delete;

  BodyBuilder* body() const { return body_; }
  /// The value in `body`, to which a number is added first; kNoValue after a fault.
  ValueId in(BodyBuilder& body) const;
  /// Names the value, as `NAME = …` does in the text.
  Expr named(std::string name) const;

 private:
  BodyBuilder* body_ = nullptr;
  ValueId id_ = kNoValue;
  Number number_;
};

/// The operation on these operands, of which at least one is a value of a builder.
Expr apply(Op op, std::initializer_list<Expr> operands);

inline Expr operator-(Expr a) { return apply(Op::neg, {a}); }
inline Expr operator+(Expr a, Expr b) { return apply(Op::add, {a, b}); }
inline Expr operator-(Expr a, Expr b) { return apply(Op::sub, {a, b}); }
inline Expr operator*(Expr a, Expr b) { return apply(Op::mul, {a, b}); }
inline Expr operator/(Expr a, Expr b) { return apply(Op::div, {a, b}); }
inline Expr operator<(Expr a, Expr b) { return apply(Op::lt, {a, b}); }
inline Expr operator<=(Expr a, Expr b) { return apply(Op::le, {a, b}); }
inline Expr operator>(Expr a, Expr b) { return apply(Op::gt, {a, b}); }
inline Expr operator>=(Expr a, Expr b) { return apply(Op::ge, {a, b}); }
inline Expr operator==(Expr a, Expr b) { return apply(Op::eq, {a, b}); }
inline Expr operator!=(Expr a, Expr b) { return apply(Op::ne, {a, b}); }
/// Both sides are always computed, as in the text form's `and` and `or`.
inline Expr operator&&(Expr a, Expr b) { return apply(Op::logical_and, {a, b}); }
inline Expr operator||(Expr a, Expr b) { return apply(Op::logical_or, {a, b}); }
inline Expr operator!(Expr a) { return apply(Op::logical_not, {a}); }

inline Expr abs(Expr a) { return apply(Op::abs, {a}); }
inline Expr sqrt(Expr a) { return apply(Op::sqrt, {a}); }
inline Expr trunc(Expr a) { return apply(Op::trunc, {a}); }
inline Expr round(Expr a) { return apply(Op::round, {a}); }
inline Expr exp(Expr a) { return apply(Op::exp, {a}); }
inline Expr log(Expr a) { return apply(Op::log, {a}); }
inline Expr tanh(Expr a) { return apply(Op::tanh, {a}); }
inline Expr sigmoid(Expr a) { return apply(Op::sigmoid, {a}); }
inline Expr erf(Expr a) { return apply(Op::erf, {a}); }
inline Expr fma(Expr a, Expr b, Expr c) { return apply(Op::fma, {a, b, c}); }
inline Expr min(Expr a, Expr b) { return apply(Op::min, {a, b}); }
inline Expr max(Expr a, Expr b) { return apply(Op::max, {a, b}); }
inline Expr select(Expr condition, Expr if_true, Expr if_false) {
  return apply(Op::select, {condition, if_true, if_false});
}
inline Expr quantize(Expr n, Expr d) { return apply(Op::quantize, {n, d}); }
/// f32(a) and i32(a) of the text form.
Expr to_f32(Expr a);
Expr to_i32(Expr a);

}  // namespace lanefold::ir
