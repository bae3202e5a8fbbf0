#include "kernels/operators.h"

namespace lanefold::kernels {

Operator quantize_q8_operator() {
  return {
      .name = "quantize_q8",
      .aliases = {},
      .text = R"(program quantize_q8(x: T[rows, cols])
  d = fold<32> max abs(x) / 127
  store q:     i8[rows, cols]     = quantize(x, d)
  store scale: f32[rows, cols/32] = d
)",
      .summary = "int8 codes with one f32 scale per 32 columns",
      .formula = "scale = max |x| / 127 of each 32 columns, q = round(x / scale)",
      .special_values =
          "A block of zeros has scale 0 and codes 0. A block with NaN has a NaN scale and codes 0; one with "
          "an infinity has the scale inf, and codes 0.",
      .source = "symmetric codes of 32 columns as in the q8_0 blocks of ggml, with the scale in f32",
      .absolute_tolerance = 1e-7,
      .relative_tolerance = 1e-6,
      .code_tolerance = 1,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
