#include "kernels/operators.h"

namespace lanefold::kernels {

Operator prod_operator() {
  return {
      .name = "prod",
      .aliases = {"reduce_prod"},
      .text = R"(program prod(x: T[rows, cols])
  store y: f32[rows] = fold prod x
)",
      .summary = "product of each row, in f32",
      .formula = "y = Π x",
      .special_values =
          "NaN anywhere gives NaN, and so does 0 beside ±inf. The sign of a zero or an infinity is that of "
          "the product. A partial product too great for f32 stays ±inf, and one too small stays 0.",
      .source = "definition",
      .absolute_tolerance = 1e-30,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
