#include "kernels/operators.h"

namespace lanefold::kernels {

Operator v_norm_operator() {
  return {
      .name = "v_norm",
      .aliases = {},
      .text = R"(program v_norm(x: T[rows, cols], eps = 1e-6)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  store y: T[rows, cols] = x * inv
)",
      .summary = "rms_norm of each value head, without a weight",
      .formula = "y = x / √(Σ x² / n + eps)",
      .special_values =
          "NaN in a row makes the row NaN. A row of zeros gives zeros. An infinity gives NaN in its column "
          "and 0 in others.",
      .source = "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467)",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
