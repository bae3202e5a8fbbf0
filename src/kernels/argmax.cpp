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
      .absolute_tolerance = 0,
      .relative_tolerance = 0,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
