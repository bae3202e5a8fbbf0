#include "kernels/operators.h"

namespace lanefold::kernels {

Operator rms_norm_int8_given_operator() {
  return {
      .name = "rms_norm_int8_given",
      .aliases = {},
      .text =
          R"(program rms_norm_int8_given(x: T[rows, cols], weight: T[cols] = 1.0, eps = 1e-6, offset = 0.0, scale = 1.0)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  n   = x * (weight + offset) * inv
  store q: i8[rows, cols] = quantize(n, scale)
)",
      .summary = "rms_norm stored as int8 codes with a scale that the caller gives",
      .formula = "n = rms_norm(x), q = round(n / scale)",
      .special_values =
          "Codes are clamped to ±127. NaN has the code 0, and a scale of 0 gives codes 0. NaN in a row makes "
          "all of its codes 0.",
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
