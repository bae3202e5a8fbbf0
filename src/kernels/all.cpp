#include "kernels/operators.h"

namespace lanefold::kernels {

Operator all_operator() {
  return {
      .name = "all",
      .aliases = {"reduce_all"},
      .text = R"(program all(x: T[rows, cols])
  store y: i8[rows] = fold all (x != 0)
)",
      .summary = "1 where no element of a row is 0, else 0",
      .formula = "y = 1 where all x ≠ 0, else 0",
      .special_values = "NaN is not 0, so it counts as true; −0 is 0.",
      .source = "definition",
      .absolute_tolerance = 0,
      .relative_tolerance = 0,
      .code_tolerance = 0,
      .integers = true,
  };
}

}  // namespace lanefold::kernels
