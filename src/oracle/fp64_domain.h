// Real numbers as doubles: the FP64 meaning.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/load_store.h"
#include "oracle/numeric_domain.h"

namespace lanefold::oracle {

/// Every value is a double; integers and booleans are doubles that hold them exactly.
struct Fp64Codec {
  using Value = double;
  using Real = double;

  static double real(double value) { return value; }
  static double from_real(double value) { return value; }
  static std::int32_t integer(double value) { return static_cast<std::int32_t>(value); }
  static double from_integer(std::int32_t value) { return value; }
  static double load_real(const std::byte* address, ElementType storage) { return load_element_f64(address, storage); }

  static void function(math::Function function, const Lanes<double>& operand, std::int64_t count, double* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = by_libm(function, operand[i]);
  }

 private:
  static double by_libm(math::Function function, double x) {
    switch (function) {
      case math::Function::exp:
      case math::Function::exp_nonpositive: return std::exp(x);
      case math::Function::log: return std::log(x);
      case math::Function::tanh: return std::tanh(x);
      case math::Function::sigmoid: return 1 / (1 + std::exp(-x));
      case math::Function::erf: return std::erf(x);
    }
    internal_error("oracle: unknown function");
  }
};

using Fp64Domain = NumericDomain<Fp64Codec>;

}  // namespace lanefold::oracle
