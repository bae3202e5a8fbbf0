#include "kernels/operators.h"

namespace lanefold::kernels {

Operator residual_norm_store_operator() {
  return {
      .name = "residual_norm_store",
      .aliases = {"fused_add_rms_norm", "fused_add_rmsnorm"},
      .text = R"(program residual_norm_store(x: T[rows, cols], residual: T[rows, cols], weight: T[cols] = 1.0,
                            eps = 1e-6, offset = 0.0, x_scale = 1.0)
  s   = residual + x_scale * x
  inv = 1 / sqrt(fold dot(s, s) / cols + eps)
  store residual_out: T[rows, cols] = s
  store y:            T[rows, cols] = s * (weight + offset) * inv
)",
      .summary = "residual plus branch, stored, and its rms_norm",
      .formula = "s = residual + x_scale · x, residual_out = s, y = rms_norm(s)",
      .special_values =
          "NaN in a row makes its y NaN, and residual_out NaN in that column alone. A row of zeros gives "
          "zeros. An infinity in s gives NaN in its column and 0 in others.",
      .source =
          "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467); the norm is of "
          "s before it is rounded to its storage",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
