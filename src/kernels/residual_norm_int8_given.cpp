#include "kernels/operators.h"

namespace lanefold::kernels {

Operator residual_norm_int8_given_operator() {
  return {
      .name = "residual_norm_int8_given",
      .aliases = {},
      .text = R"(program residual_norm_int8_given(x: T[rows, cols], residual: T[rows, cols], weight: T[cols] = 1.0,
                                 eps = 1e-6, offset = 0.0, x_scale = 1.0, scale = 1.0)
  s   = residual + x_scale * x
  inv = 1 / sqrt(fold dot(s, s) / cols + eps)
  n   = s * (weight + offset) * inv
  store residual_out: T[rows, cols]  = s
  store q:            i8[rows, cols] = quantize(n, scale)
)",
      .summary = "residual plus branch, stored, and its rms_norm as int8 codes with a scale that the caller gives",
      .formula = "s = residual + x_scale · x, residual_out = s, n = rms_norm(s), q = round(n / scale)",
      .special_values =
          "Codes are clamped to ±127. NaN has the code 0, and a scale of 0 gives codes 0. NaN in a row makes "
          "all of its codes 0. residual_out is NaN where s is.",
      .source =
          "Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467); symmetric int8 "
          "codes, of which 127 stands for the greatest number",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 1,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
