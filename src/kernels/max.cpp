#include "kernels/operators.h"

namespace lanefold::kernels {

Operator max_operator() {
  return {
      .name = "max",
      .aliases = {"reduce_max", "amax"},
      .text = R"(program max(x: T[rows, cols])
  store y: T[rows] = fold max x
)",
      .summary = "maximum of each row; NaN wins",
      .formula = "y = max x",
      .special_values = "NaN anywhere gives NaN; −0 is less than +0.",
      .source = "IEEE 754-2019, section 9.6, maximum",
      .absolute_tolerance = 0,
      .relative_tolerance = 0,
      .code_tolerance = 0,
  };
}

}  // namespace lanefold::kernels
