#include "kernels/operators.h"

namespace lanefold::kernels {

Operator mean_operator() {
  return {
      .name = "mean",
      .aliases = {"reduce_mean"},
      .text = R"(program mean(x: T[rows, cols])
  store y: f32[rows] = fold sum x / cols
)",
      .summary = "mean of each row, in f32",
      .formula = "y = Σ x / n",
      .special_values =
          "NaN anywhere gives NaN, and so does +inf beside −inf; else an infinity gives itself. A sum beyond "
          "f32 gives ±inf.",
      .source = "definition",
      .absolute_tolerance = 1e-6,
      .relative_tolerance = 1e-5,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
