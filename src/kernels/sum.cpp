#include "kernels/operators.h"

namespace lanefold::kernels {

Operator sum_operator() {
  return {
      .name = "sum",
      .aliases = {"reduce_sum", "row_sum"},
      .text = R"(program sum(x: T[rows, cols])
  store y: f32[rows] = fold sum x
)",
      .summary = "sum of each row, in f32",
      .formula = "y = Σ x",
      .special_values =
          "NaN anywhere gives NaN, and so does +inf beside −inf; else an infinity gives itself. A row of −0 "
          "alone gives −0.",
      .source = "definition",
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 1e-5,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
