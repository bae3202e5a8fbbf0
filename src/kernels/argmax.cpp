#include "kernels/operators.h"

namespace lanefold::kernels {

Operator argmax_operator() {
  return {
      .name = "argmax",
      .aliases = {},
      .text = R"(program argmax(x: T[rows, cols])
  store y: i32[rows] = fold argmax x
)",
      .summary = "column of the maximum of each row: the first NaN, else the lowest among equals",
      .formula = "y = argmax x",
      .special_values = "The first NaN wins; else the lowest column among equals. −0 and +0 are equal.",
      .source = "definition",
      .absolute_tolerance = 0,
      .relative_tolerance = 0,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
