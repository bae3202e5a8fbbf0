#include "kernels/operators.h"

namespace lanefold::kernels {

Operator min_operator() {
  return {
      .name = "min",
      .aliases = {"reduce_min", "amin"},
      .text = R"(program min(x: T[rows, cols])
  store y: T[rows] = fold min x
)",
      .summary = "minimum of each row; NaN wins",
      .formula = "y = min x",
      .special_values = "NaN anywhere gives NaN; −0 is less than +0.",
      .source = "IEEE 754-2019, section 9.6, minimum",
      .absolute_tolerance = 0,
      .relative_tolerance = 0,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
