#include "kernels/operators.h"

namespace lanefold::kernels {

Operator any_operator() {
  return {
      .name = "any",
      .aliases = {"reduce_any"},
      .text = R"(program any(x: T[rows, cols])
  store y: i8[rows] = fold any (x != 0)
)",
      .summary = "1 where a row has an element that is not 0, else 0",
      .formula = "y = 1 where some x ≠ 0, else 0",
      .special_values = "NaN is not 0, so it counts as true; −0 is 0.",
      .source = "definition",
      .absolute_tolerance = 0,
      .relative_tolerance = 0,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
