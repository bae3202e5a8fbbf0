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
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
