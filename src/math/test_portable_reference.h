// What the portable functions should give, by MPFR, and how far a result lies from it. For tests and tools only: the
// library does not link MPFR.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>

#include "math/portable.h"

namespace lanefold::math {

/// The function's value, correct to a double's precision; NaN, infinities and signed zeros as the functions define them.
inline double exact_value(Function function, float argument) {
  if (argument == 0 && (function == Function::tanh || function == Function::erf)) return argument;
  mpfr_t value;
  mpfr_init2(value, 96);
  mpfr_set_flt(value, argument, MPFR_RNDN);
  switch (function) {
    case Function::exp_nonpositive:
    case Function::exp: mpfr_exp(value, value, MPFR_RNDN); break;
    case Function::log: mpfr_log(value, value, MPFR_RNDN); break;
    case Function::tanh: mpfr_tanh(value, value, MPFR_RNDN); break;
    case Function::erf: mpfr_erf(value, value, MPFR_RNDN); break;
    case Function::sigmoid:
      mpfr_neg(value, value, MPFR_RNDN);
      mpfr_exp(value, value, MPFR_RNDN);
      mpfr_add_ui(value, value, 1, MPFR_RNDN);
      mpfr_ui_div(value, 1, value, MPFR_RNDN);
      break;
  }
  const double exact = mpfr_get_d(value, MPFR_RNDN);
  mpfr_clear(value);
  return exact;
}

/// |result − exact| in units in the last place of the exact value's binade, which in the subnormal range is the spacing
/// there. Beyond the largest f32, infinity stands for 2^128. A NaN is infinitely far away.
inline double ulp_error(float result, double exact) {
  if (std::isnan(result)) return HUGE_VAL;
  constexpr double kOverflow = 0x1p128;
  const double value = std::clamp(static_cast<double>(result), -kOverflow, kOverflow);
  const double target = std::clamp(exact, -kOverflow, kOverflow);
  const int exponent = target == 0 ? -126 : std::clamp(std::ilogb(target), -126, 127);
  return std::fabs(value - target) * std::ldexp(1.0, 23 - exponent);
}

/// Whether rounding plays no part in the result: an infinite or NaN argument, or an exact value that is NaN, infinite or 0.
inline bool is_special(float argument, double exact) {
  return !std::isfinite(argument) || !std::isfinite(exact) || exact == 0;
}

/// Whether a special result is right: the same number with the same sign, or NaN where NaN is due.
inline bool special_is_right(float result, double exact) {
  if (std::isnan(exact)) return std::isnan(result);
  return static_cast<double>(result) == exact && std::signbit(result) == std::signbit(exact);
}

}  // namespace lanefold::math
