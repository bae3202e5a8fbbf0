#include "kernels/operators.h"

namespace lanefold::kernels {

Operator post_attn_residual_norm_store_operator() {
  return {
      .name = "post_attn_residual_norm_store",
      .aliases = {},
      .text =
          R"(program post_attn_residual_norm_store(x: T[rows, cols], residual: T[rows, cols], post_weight: T[cols] = 1.0,
                                      weight: T[cols] = 1.0, eps = 1e-6, offset = 0.0)
  post_inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  s        = residual + x * (post_weight + offset) * post_inv
  inv      = 1 / sqrt(fold dot(s, s) / cols + eps)
  store residual_out: T[rows, cols] = s
  store y:            T[rows, cols] = s * (weight + offset) * inv
)",
      .summary = "residual plus the norm of an attention output, stored, and its norm for the layer that follows",
      .formula = "s = residual + rms_norm(x, post_weight), residual_out = s, y = rms_norm(s, weight)",
      .special_values =
          "NaN in x makes the whole row of both outputs NaN; NaN in residual makes y NaN, and residual_out in"
          " that column alone.",
      .source =
          "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467); norms before "
          "and after each block as in Gemma 2 (arXiv:2408.00118)",
      // Where the stream and the norm cancel, eps alone bounds what the second norm makes of a rounding: 1000 times it.
      .absolute_tolerance = 1e-4,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
