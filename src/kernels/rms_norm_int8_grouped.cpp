#include "kernels/operators.h"

namespace lanefold::kernels {

Operator rms_norm_int8_grouped_operator() {
  return {
      .name = "rms_norm_int8_grouped",
      .aliases = {},
      .text = R"(program rms_norm_int8_grouped(x: T[rows, cols], weight: T[cols] = 1.0, eps = 1e-6, offset = 0.0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  n   = x * (weight + offset) * inv
  d   = fold<128> max abs(n) / 127
  store q:     i8[rows, cols]      = quantize(n, d)
  store scale: f32[rows, cols/128] = d
)",
      .summary = "rms_norm stored as int8 codes with one f32 scale per 128 columns",
      .formula = "n = rms_norm(x), scale = max |n| / 127 of each 128 columns, q = round(n / scale)",
      .special_values =
          "A group of zeros has scale 0 and codes 0. A row with NaN has NaN scales and codes 0. Codes are "
          "clamped to ±127.",
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
