// Portable elementary functions: straight-line tables of IEEE binary32 and 32-bit integer steps, equal bits everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lanefold::math {

// clang-format off: a table
/// What one step does. f32 steps round to nearest even; integer steps wrap; comparisons give a boolean.
enum class StepOp : std::uint8_t {
  constant_f32,  ///< bits
  constant_i32,  ///< bits
  add, sub, mul, div, fma, neg, abs, sqrt, trunc,  // f32
  lt, le, gt, ge, eq, ne,                          // f32, f32 → boolean (false on NaN, but ne true)
  select,                                          // boolean, T, T → T
  iadd, isub, imul, iand, ior, ixor, ishl, ishr,   // i32; ishr is arithmetic, shift counts 0..31
  ilt, igt, ieq,                                   // i32, i32 → boolean
  to_i32,                                          // f32 → i32, value already integral and in range
  to_f32,                                          // i32 → f32
  bits_of,                                         // f32 → i32, the same bits
  from_bits,                                       // i32 → f32, the same bits
};
// clang-format on

/// One step. Operands a, b, c number earlier values: 0 is the argument, k ≥ 1 the result of step k − 1.
struct Step {
  StepOp op;
  std::uint16_t a = 0, b = 0, c = 0;
  std::uint32_t bits = 0;
};

/// exp_nonpositive is exp, bit for bit, for arguments ≤ 0 and NaN, in fewer steps; elsewhere it means nothing.
enum class Function : std::uint8_t { exp, exp_nonpositive, log, tanh, sigmoid, erf };
/// The functions of a program.
inline constexpr Function kFunctions[] = {Function::exp, Function::log, Function::tanh, Function::sigmoid,
                                          Function::erf};

/// "exp", ...
std::string_view function_name(Function function);
/// The steps of a function; the last one is the result. Error bounds are in docs/numerics.md.
std::span<const Step> steps(Function function);

/// Runs the table over any domain. The domain offers one member per StepOp, each taking and returning Domain::Value:
/// constant_f32(bits), constant_i32(bits), and apply(StepOp, Value, Value, Value).
template <class Domain>
typename Domain::Value evaluate(Function function, Domain& domain, typename Domain::Value argument) {
  std::vector<typename Domain::Value> values{argument};
  for (const Step& step : steps(function)) {
    switch (step.op) {
      case StepOp::constant_f32: values.push_back(domain.constant_f32(step.bits)); break;
      case StepOp::constant_i32: values.push_back(domain.constant_i32(step.bits)); break;
      default: values.push_back(domain.apply(step.op, values[step.a], values[step.b], values[step.c]));
    }
  }
  return values.back();
}

/// The function on one f32, by the table.
float evaluate_f32(Function function, float argument);

}  // namespace lanefold::math
