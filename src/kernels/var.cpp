#include "kernels/operators.h"

namespace lanefold::kernels {

Operator var_operator() {
  return {
      .name = "var",
      .aliases = {"variance", "reduce_variance"},
      .text = R"(program var(x: T[rows, cols], correction = 0.0)
  mean = fold sum x / cols
  d    = x - mean
  store y: f32[rows] = fold dot(d, d) / (cols - correction)
)",
      .summary = "variance of each row, in f32: the mean first, then the squares of what differs from it",
      .formula = "y = Σ (x − μ)² / (n − correction), μ = Σ x / n",
      .special_values =
          "NaN or an infinity anywhere gives NaN. correction = n gives NaN for a constant row and inf for "
          "others. A constant row whose mean is exact gives 0.",
      .source =
          "two-pass form: Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance, 1983; "
          "correction = 1 is Bessel’s",
      .absolute_tolerance = 1e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
