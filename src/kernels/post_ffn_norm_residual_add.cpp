#include "kernels/operators.h"

namespace lanefold::kernels {

Operator post_ffn_norm_residual_add_operator() {
  return {
      .name = "post_ffn_norm_residual_add",
      .aliases = {},
      .text = R"(program post_ffn_norm_residual_add(x: T[rows, cols], residual: T[rows, cols], weight: T[cols] = 1.0,
                                   eps = 1e-6, offset = 0.0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  store residual_out: T[rows, cols] = residual + x * (weight + offset) * inv
)",
      .summary = "residual plus the norm of a feed-forward output",
      .formula = "residual_out = residual + rms_norm(x)",
      .special_values = "NaN in x makes the whole row NaN; NaN in residual that column alone.",
      .source =
          "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467); norms before "
          "and after each block as in Gemma 2 (arXiv:2408.00118)",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
