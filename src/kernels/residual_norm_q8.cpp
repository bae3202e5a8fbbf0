#include "kernels/operators.h"

namespace lanefold::kernels {

Operator residual_norm_q8_operator() {
  return {
      .name = "residual_norm_q8",
      .aliases = {"residual_rms_norm_q8"},
      .text = R"(program residual_norm_q8(x: T[rows, cols], residual: T[rows, cols], weight: T[cols] = 1.0,
                         eps = 1e-6, offset = 0.0, x_scale = 1.0)
  s   = residual + x_scale * x
  inv = 1 / sqrt(fold dot(s, s) / cols + eps)
  n   = s * (weight + offset) * inv
  d   = fold<32> max abs(n) / 127
  store residual_out: f32[rows, cols]    = s
  store q:            i8[rows, cols]     = quantize(n, d)
  store scale:        f32[rows, cols/32] = d
)",
      .summary = "residual plus branch, stored in f32, and its rms_norm as int8 codes and scales",
      .formula = "s = residual + x_scale · x, residual_out = s, q and scale as of rms_norm_q8(s)",
      .special_values =
          "A block of zeros has scale 0 and codes 0. A row with NaN has NaN scales and codes 0, and "
          "residual_out is NaN where s is. Codes are clamped to ±127.",
      .source =
          "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467); symmetric codes"
          " of 32 columns as in the q8_0 blocks of ggml, with the scale in f32",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 1,
  };
}

}  // namespace lanefold::kernels
