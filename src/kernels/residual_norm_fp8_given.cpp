#include "kernels/operators.h"

namespace lanefold::kernels {

Operator residual_norm_fp8_given_operator() {
  return {
      .name = "residual_norm_fp8_given",
      .aliases = {"fused_add_rms_norm_static_fp8_quant", "fused_add_rmsnorm_quant"},
      .text = R"(program residual_norm_fp8_given(x: T[rows, cols], residual: T[rows, cols], weight: T[cols] = 1.0,
                                eps = 1e-6, offset = 0.0, x_scale = 1.0, scale = 1.0)
  s   = residual + x_scale * x
  inv = 1 / sqrt(fold dot(s, s) / cols + eps)
  n   = s * (weight + offset) * inv
  store residual_out: T[rows, cols]    = s
  store q:            e4m3[rows, cols] = select(scale == 0, 0, n / scale)
)",
      .summary = "residual plus branch, stored, and its rms_norm as e4m3 codes with a scale that the caller gives",
      .formula = "s = residual + x_scale · x, residual_out = s, n = rms_norm(s), q = n / scale as e4m3",
      .special_values =
          "Codes saturate at ±448, infinities too. A scale of 0 gives codes 0. NaN in a row makes all of its "
          "codes NaN (0x7f). residual_out is NaN where s is.",
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
