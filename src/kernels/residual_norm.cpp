#include "kernels/operators.h"

namespace lanefold::kernels {

Operator residual_norm_operator() {
  return {
      .name = "residual_norm",
      .aliases = {"residual_rms_norm", "add_rms_norm"},
      .text = R"(program residual_norm(x: T[rows, cols], residual: T[rows, cols], weight: T[cols] = 1.0,
                      eps = 1e-6, offset = 0.0, x_scale = 1.0)
  s   = residual + x_scale * x
  inv = 1 / sqrt(fold dot(s, s) / cols + eps)
  store y: T[rows, cols] = s * (weight + offset) * inv
)",
      .summary = "rms_norm of a residual stream plus a branch",
      .formula = "s = residual + x_scale · x, y = rms_norm(s)",
      .special_values =
          "NaN in a row makes the row NaN. A row of zeros gives zeros. An infinity in s gives NaN in its "
          "column and 0 in others.",
      .source = "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467)",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
