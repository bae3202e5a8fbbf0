#include "kernels/operators.h"

namespace lanefold::kernels {

Operator masked_softmax_operator() {
  return {
      .name = "masked_softmax",
      .aliases = {},
      .text =
          R"(program masked_softmax(x: T[rows, cols], mask: T[rows, cols], scale: option = 1, soft_cap: option = 0,
                       zero_for_masked: option = 1)
  s = x * scale
  c = select(soft_cap > 0 and soft_cap < inf, soft_cap * tanh(s / soft_cap), s) + mask
  m = fold max c
  e = exp(c - m)
  y = e * (1 / fold sum e)
  store y: T[rows, cols] = select(zero_for_masked != 0 and m == -inf, 0, y)
)",
      .summary = "softmax of each row plus a mask, such as 0 and −inf; a row that is masked out is 0",
      .formula =
          "y = exp(c − max c) / Σ exp(c − max c), c = scale · x + mask, or soft_cap · tanh(scale · x / soft_cap) + "
          "mask",
      .special_values =
          "NaN anywhere makes the row NaN, and so does +inf. A row that is −inf alone is 0, or NaN with "
          "zero_for_masked = 0. "
          "With a soft cap these are no infinities any more. A soft_cap that is not above 0 and finite means none.",
      .source = "as softmax; the mask is added after scale and cap, as attention does",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
