#include "kernels/operators.h"

namespace lanefold::kernels {

Operator dot_operator() {
  return {
      .name = "dot",
      .aliases = {"row_dot", "vecdot"},
      .text = R"(program dot(x: T[rows, cols], other: T[rows, cols])
  store y: f32[rows] = fold dot(x, other)
)",
      .summary = "dot product of each row with the same row of another matrix, in f32",
      .formula = "y = Σ x · other, with fused multiply-adds",
      .special_values = "NaN anywhere gives NaN, and so do 0 times an infinity and infinities of both signs.",
      .source = "definition",
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 1e-5,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
