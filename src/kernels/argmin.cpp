#include "kernels/operators.h"

namespace lanefold::kernels {

Operator argmin_operator() {
  return {
      .name = "argmin",
      .aliases = {},
      .text = R"(program argmin(x: T[rows, cols])
  store y: i32[rows] = fold argmin x
)",
      .summary = "column of the minimum of each row: the first NaN, else the lowest among equals",
      .formula = "y = argmin x",
      .special_values = "The first NaN wins; else the lowest column among equals. −0 and +0 are equal.",
      .source = "definition",
      .absolute_tolerance = 0,
      .relative_tolerance = 0,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
