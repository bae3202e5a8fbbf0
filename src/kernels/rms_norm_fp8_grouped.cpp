#include "kernels/operators.h"

namespace lanefold::kernels {

Operator rms_norm_fp8_grouped_operator() {
  return {
      .name = "rms_norm_fp8_grouped",
      .aliases = {"rms_norm_per_block_quant"},
      .text = R"(program rms_norm_fp8_grouped(x: T[rows, cols], weight: T[cols] = 1.0, eps = 1e-6, offset = 0.0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  n   = x * (weight + offset) * inv
  d   = fold<128> max abs(n) / 448
  store q:     e4m3[rows, cols]    = select(d == 0, 0, n / d)
  store scale: f32[rows, cols/128] = d
)",
      .summary = "rms_norm stored as e4m3 codes with one f32 scale per 128 columns",
      .formula = "n = rms_norm(x), scale = max |n| / 448 of each 128 columns, q = n / scale as e4m3",
      .special_values =
          "A group of zeros has scale 0 and codes 0. A row with NaN has NaN scales and NaN codes (0x7f). "
          "Codes saturate at ±448.",
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
