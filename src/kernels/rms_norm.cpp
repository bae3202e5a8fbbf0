#include "kernels/operators.h"

namespace lanefold::kernels {

Operator rms_norm_operator() {
  return {
      .name = "rms_norm",
      .aliases = {"rmsnorm"},
      .text = R"(program rms_norm(x: T[rows, cols], weight: T[cols] = 1.0, eps = 1e-6, offset = 0.0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  store y: T[rows, cols] = x * (weight + offset) * inv
)",
      .summary = "root mean square normalisation",
      .formula = "y = x · (weight + offset) / √(Σ x² / n + eps)",
      .special_values =
          "NaN in a row makes the row NaN. A row of zeros gives zeros of their signs. An infinity gives NaN "
          "in its column and 0 in others.",
      .source =
          "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467); offset = 1 "
          "gives the (1 + weight) of Gemma",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
