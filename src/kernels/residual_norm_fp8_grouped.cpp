#include "kernels/operators.h"

namespace lanefold::kernels {

Operator residual_norm_fp8_grouped_operator() {
  return {
      .name = "residual_norm_fp8_grouped",
      .aliases = {"fused_add_rmsnorm_fp8_block_quant"},
      .text = R"(program residual_norm_fp8_grouped(x: T[rows, cols], residual: T[rows, cols], weight: T[cols] = 1.0,
                                  eps = 1e-6, offset = 0.0, x_scale = 1.0)
  s   = residual + x_scale * x
  inv = 1 / sqrt(fold dot(s, s) / cols + eps)
  n   = s * (weight + offset) * inv
  d   = fold<128> max abs(n) / 448
  store residual_out: T[rows, cols]       = s
  store q:            e4m3[rows, cols]    = select(d == 0, 0, n / d)
  store scale:        f32[rows, cols/128] = d
)",
      .summary = "residual plus branch, stored, and its rms_norm as e4m3 codes with one f32 scale per 128 columns",
      .formula =
          "s = residual + x_scale · x, residual_out = s, n = rms_norm(s), scale = max |n| / 448 of each 128 "
          "columns, q = n / scale as e4m3",
      .special_values =
          "A group of zeros has scale 0 and codes 0. A row with NaN has NaN scales and NaN codes (0x7f). "
          "Codes saturate at ±448. residual_out is NaN where s is.",
      .source =
          "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467); e4m3 of the OCP"
          " 8-bit Floating Point Specification, whose greatest number is 448",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
