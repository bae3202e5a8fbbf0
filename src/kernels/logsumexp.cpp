#include "kernels/operators.h"

namespace lanefold::kernels {

Operator logsumexp_operator() {
  return {
      .name = "logsumexp",
      .aliases = {"reduce_logsumexp", "reduce_log_sum_exp"},
      .text = R"(program logsumexp(x: T[rows, cols])
  m = fold max x
  store y: f32[rows] = select(abs(m) == inf, m, m + log(fold sum exp(x - m)))
)",
      .summary = "logarithm of the sum of the exponentials of each row, in f32",
      .formula = "y = m + log Σ exp(x − m), m = max x",
      .special_values = "NaN anywhere gives NaN. A row of −inf alone gives −inf; one with +inf gives +inf.",
      .source = "Blanchard, Higham and Higham, Accurately Computing the Log-Sum-Exp and Softmax Functions, 2021",
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
