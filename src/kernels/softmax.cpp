#include "kernels/operators.h"

namespace lanefold::kernels {

Operator softmax_operator() {
  return {
      .name = "softmax",
      .aliases = {},
      .text =
          R"(program softmax(x: T[rows, cols], scale: option = 1, soft_cap: option = 0, zero_for_masked: option = 0)
  s = x * scale
  c = select(soft_cap > 0 and soft_cap < inf, soft_cap * tanh(s / soft_cap), s)
  m = fold max c
  e = exp(c - m)
  y = e * (1 / fold sum e)
  store y: T[rows, cols] = select(zero_for_masked != 0 and m == -inf, 0, y)
)",
      .summary = "softmax of each row, with an optional scale and soft cap",
      .formula = "y = exp(c − max c) / Σ exp(c − max c), c = scale · x, or soft_cap · tanh(scale · x / soft_cap)",
      .special_values =
          "NaN anywhere makes the row NaN, and so does +inf. A row of −inf alone is NaN, or 0 with the option "
          "zero_for_masked. "
          "With a soft cap these are no infinities any more. A soft_cap that is not above 0 and finite means none.",
      .source =
          "Blanchard, Higham and Higham, Accurately Computing the Log-Sum-Exp and Softmax Functions, 2021; the soft "
          "cap "
          "is that of Gemma 2 (arXiv:2408.00118)",
      .absolute_tolerance = 2e-6,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
