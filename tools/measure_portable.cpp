// Measures the portable functions against a reference over all 2^32 arguments, or every N-th:
//   measure_portable [--stride N] [function ...]
// prints a table row per function: the greatest error in units in the last place, where, and the number of steps. The
// screening reference is the C library in double; the worst argument is measured again with MPFR. Exit status 1 when a
// special value is wrong (NaN, infinities, the sign of a zero), or the two readings of the table differ.
//
// Build: g++ -std=c++20 -O3 -march=native -fno-math-errno -fno-trapping-math -ffp-contract=off -Isrc
//        tools/measure_portable.cpp src/math/portable.cpp src/base/diagnostic.cpp -lfmt -lmpfr -lgmp
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>
#include <vector>

#include "math/portable.h"
#include "math/test_portable_reference.h"

namespace {

using lanefold::math::Function;
using lanefold::math::StepOp;

// The step operations as plain functions, so that the table reads as straight code, which compilers vectorise.
namespace operation {
float add(float a, float b) { return a + b; }
float sub(float a, float b) { return a - b; }
float mul(float a, float b) { return a * b; }
float div(float a, float b) { return a / b; }
float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
float abs(float a) { return __builtin_fabsf(a); }
bool lt(float a, float b) { return a < b; }
bool gt(float a, float b) { return a > b; }
bool eq(float a, float b) { return a == b; }
template <class T>
T select(bool condition, T a, T b) {
  return condition ? a : b;
}
std::uint32_t isub(std::uint32_t a, std::uint32_t b) { return a - b; }
std::uint32_t iand(std::uint32_t a, std::uint32_t b) { return a & b; }
std::uint32_t ior(std::uint32_t a, std::uint32_t b) { return a | b; }
std::uint32_t ishl(std::uint32_t a, std::uint32_t b) { return a << b; }
std::uint32_t ishr(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(a) >> b);
}
float to_f32(std::uint32_t a) { return static_cast<float>(static_cast<std::int32_t>(a)); }
std::uint32_t bits_of(float a) { return std::bit_cast<std::uint32_t>(a); }
float from_bits(std::uint32_t a) { return std::bit_cast<float>(a); }
}  // namespace operation

// clang-format off: a brace that opens in one macro closes in another
#define PORTABLE_FUNCTION(function) inline float straight_##function(float x) {
#define PORTABLE_F32(name, pattern, decimal) const float name = std::bit_cast<float>(std::uint32_t{pattern});
#define PORTABLE_I32(name, pattern) const std::uint32_t name = pattern;
#define PORTABLE_STEP(name, op, ...) const auto name = operation::op(__VA_ARGS__);
#define PORTABLE_END(function) return result; }
#include "math/portable.def"
// clang-format on

struct Measurement {
  double worst = 0;
  float worst_argument = 0;
  float worst_result = 0;
  std::uint64_t arguments = 0, faults = 0, misrounded = 0;
};

template <class Straight, class Reference>
Measurement measure(Function function, std::uint64_t stride, Straight straight, Reference reference) {
  constexpr std::size_t kBlock = 1024;
  std::array<float, kBlock> arguments{}, results{};
  Measurement measurement;
  for (std::uint64_t start = 0; start < (std::uint64_t{1} << 32); start += stride * kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const std::uint64_t bits = std::min<std::uint64_t>(start + i * stride, 0xffffffffu);
      arguments[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
    for (std::size_t i = 0; i < kBlock; ++i) results[i] = straight(arguments[i]);
    measurement.arguments += kBlock;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const float x = arguments[i], result = results[i];
      const double exact = reference(static_cast<double>(x));
      // Correctly rounded: at most half a unit, and right where it is special.
      if (std::bit_cast<std::uint32_t>(result) == std::bit_cast<std::uint32_t>(static_cast<float>(exact))) continue;
      if (lanefold::math::is_special(x, exact)) {
        if (!lanefold::math::special_is_right(result, exact)) ++measurement.faults;
        continue;
      }
      ++measurement.misrounded;
      const double error = lanefold::math::ulp_error(result, exact);
      if (error > measurement.worst) {
        measurement.worst = error;
        measurement.worst_argument = x;
        measurement.worst_result = result;
      }
    }
    const float interpreted = lanefold::math::evaluate_f32(function, arguments[0]);
    if (interpreted != results[0] && !(std::isnan(interpreted) && std::isnan(results[0]))) ++measurement.faults;
  }
  return measurement;
}

/// An error of the double reference, below 2^-50, does not show in units in the last place of f32. At ±200 the exponential
/// is beyond f32 already, and the C library is not yet slow.
Measurement measure(Function function, std::uint64_t stride) {
  switch (function) {
    case Function::exp_nonpositive:
    case Function::exp:
      return measure(
          function, stride, [](float x) { return straight_exp(x); },
          [](double x) { return std::exp(std::clamp(x, -200.0, 200.0)); });
    case Function::log:
      return measure(function, stride, [](float x) { return straight_log(x); }, [](double x) { return std::log(x); });
    case Function::tanh:
      return measure(function, stride, [](float x) { return straight_tanh(x); }, [](double x) { return std::tanh(x); });
    case Function::erf:
      return measure(function, stride, [](float x) { return straight_erf(x); }, [](double x) { return std::erf(x); });
    case Function::sigmoid:
      return measure(
          function, stride, [](float x) { return straight_sigmoid(x); },
          [](double x) {
            const double e = std::exp(-std::min(std::fabs(x), 200.0));
            return (x < 0 ? e : 1) / (1 + e);
          });
  }
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  std::uint64_t stride = 1;
  std::vector<Function> functions;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--stride" && i + 1 < count) {
      const std::string_view number = arguments[++i];
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), stride);
      if (error == std::errc() && end == number.data() + number.size() && stride > 0) continue;
    }
    const auto named = std::find_if(std::begin(lanefold::math::kFunctions), std::end(lanefold::math::kFunctions),
                                    [&](Function f) { return lanefold::math::function_name(f) == argument; });
    if (named == std::end(lanefold::math::kFunctions)) {
      fmt::print(stderr, "usage: measure_portable [--stride N] [exp|log|tanh|sigmoid|erf ...]\n");
      return 2;
    }
    functions.push_back(*named);
  }
  if (functions.empty()) functions.assign(std::begin(lanefold::math::kFunctions), std::end(lanefold::math::kFunctions));

  bool right = true;
  fmt::print(
      "| function | arguments | max error (ulp) | worst argument | not correctly rounded | steps | constants |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const Function function : functions) {
    const Measurement m = measure(function, stride);
    const auto table = lanefold::math::steps(function);
    const auto constants = std::count_if(table.begin(), table.end(), [](const lanefold::math::Step& step) {
      return step.op == StepOp::constant_f32 || step.op == StepOp::constant_i32;
    });
    const double worst =
        lanefold::math::ulp_error(m.worst_result, lanefold::math::exact_value(function, m.worst_argument));
    fmt::print("| {} | {} | {:.4f} | {:.9g} (0x{:08x}) | {:.2f} % | {} | {} |\n",
               lanefold::math::function_name(function), m.arguments, worst, m.worst_argument,
               std::bit_cast<std::uint32_t>(m.worst_argument),
               100.0 * static_cast<double>(m.misrounded) / static_cast<double>(m.arguments),
               table.size() - static_cast<std::size_t>(constants), constants);
    std::fflush(stdout);
    if (m.faults > 0)
      fmt::print(stderr, "{}: {} special values are wrong\n", lanefold::math::function_name(function), m.faults);
    right = right && m.faults == 0;
  }
  return right ? 0 : 1;
}
