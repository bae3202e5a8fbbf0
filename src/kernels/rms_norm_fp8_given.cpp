#include "kernels/operators.h"

namespace lanefold::kernels {

Operator rms_norm_fp8_given_operator() {
  return {
      .name = "rms_norm_fp8_given",
      .aliases = {"rms_norm_static_fp8_quant", "rmsnorm_quant"},
      .text =
          R"(program rms_norm_fp8_given(x: T[rows, cols], weight: T[cols] = 1.0, eps = 1e-6, offset = 0.0, scale = 1.0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  n   = x * (weight + offset) * inv
  store q: e4m3[rows, cols] = select(scale == 0, 0, n / scale)
)",
      .summary = "rms_norm stored as e4m3 codes with a scale that the caller gives",
      .formula = "n = rms_norm(x), q = n / scale as e4m3",
      .special_values =
          "Codes saturate at ±448, infinities too. A scale of 0 gives codes 0. NaN in a row makes all of its "
          "codes NaN (0x7f).",
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
