#include "kernels/operators.h"

namespace lanefold::kernels {

Operator softmax_operator() {
  return {
      .name = "softmax",
      .aliases = {},
      .text = R"(program softmax(x: T[rows, cols])
  m = fold max x
  e = exp(x - m)
  store y: T[rows, cols] = e * (1 / fold sum e)
)",
      .summary = "softmax of each row",
      .formula = "y = exp(x − max x) / Σ exp(x − max x)",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
