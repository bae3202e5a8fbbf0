#include "kernels/operators.h"

namespace lanefold::kernels {

Operator layer_norm_operator() {
  return {
      .name = "layer_norm",
      .aliases = {"layernorm"},
      .text =
          R"(program layer_norm(x: T[rows, cols], weight: T[cols] = 1.0, bias: T[cols] = -0.0, eps = 1e-5, offset = 0.0)
  mean = fold sum x / cols
  d    = x - mean
  inv  = 1 / sqrt(fold dot(d, d) / cols + eps)
  store y: T[rows, cols] = d * inv * (weight + offset) + bias
)",
      .summary = "layer normalisation with population variance",
      .formula = "y = (x − μ) / √(σ² + eps) · (weight + offset) + bias, μ = Σ x / n, σ² = Σ (x − μ)² / n",
      .special_values = "NaN or an infinity in a row makes the row NaN. A constant row whose mean is exact gives bias.",
      .source = "Ba, Kiros and Hinton, Layer Normalization, 2016 (arXiv:1607.06450); the variance in two passes",
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
