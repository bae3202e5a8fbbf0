#include "kernels/operators.h"

namespace lanefold::kernels {

Operator qk_norm_operator() {
  return {
      .name = "qk_norm",
      .aliases = {"q_norm", "k_norm"},
      .text = R"(program qk_norm(x: T[rows, cols], weight: T[cols] = 1.0, eps = 1e-6, offset = 0.0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  store y: T[rows, cols] = x * (weight + offset) * inv
)",
      .summary = "rms_norm of each query or key head: rows are tokens times heads, columns the head",
      .formula = "y = x · (weight + offset) / √(Σ x² / n + eps)",
      .special_values =
          "NaN in a row makes the row NaN. A row of zeros gives zeros. An infinity gives NaN in its column "
          "and 0 in others.",
      .source =
          "Henry et al., Query-Key Normalization for Transformers, 2020 (arXiv:2010.04245), with the norm of "
          "arXiv:1910.07467",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
