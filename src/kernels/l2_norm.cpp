#include "kernels/operators.h"

namespace lanefold::kernels {

Operator l2_norm_operator() {
  return {
      .name = "l2_norm",
      .aliases = {"reduce_l2", "vector_norm"},
      .text = R"(program l2_norm(x: T[rows, cols])
  store y: f32[rows] = sqrt(fold dot(x, x))
)",
      .summary = "Euclidean length of each row, in f32",
      .formula = "y = √(Σ x²)",
      .special_values =
          "NaN anywhere gives NaN, else an infinity +inf. Squares are not scaled: a sum of squares beyond f32"
          " gives +inf, and squares below it 0.",
      .source = "definition",
      .absolute_tolerance = 1e-7,
      .relative_tolerance = 1e-5,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
