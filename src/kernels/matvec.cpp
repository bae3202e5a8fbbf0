#include "kernels/operators.h"

namespace lanefold::kernels {

Operator matvec_operator() {
  return {
      .name = "matvec",
      .aliases = {"gemv", "linear"},
      .text = R"(program matvec(w: W[rows, cols], x: T[K][cols])
  store y: T[K][rows] = fold dot(w, x)
)",
      .summary = "product of a matrix and one to eight vectors, over one load of the matrix",
      .formula = "y_k = Σ w · x_k for each token k",
      .special_values = "NaN in a row of w or in x gives NaN. A block of w whose scale is 0 counts as zeros.",
      .source = "Golub and Van Loan, Matrix Computations, 1.1; q8_0 as in the formats of ggml",
      .absolute_tolerance = 1e-4,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
