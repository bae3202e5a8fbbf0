#include "kernels/operators.h"

namespace lanefold::kernels {

Operator log_softmax_operator() {
  return {
      .name = "log_softmax",
      .aliases = {"logsoftmax"},
      .text = R"(program log_softmax(x: T[rows, cols])
  m = fold max x
  d = x - m
  store y: T[rows, cols] = d - log(fold sum exp(d))
)",
      .summary = "logarithm of the softmax of each row",
      .formula = "y = (x − m) − log Σ exp(x − m), m = max x",
      .special_values =
          "NaN anywhere gives a row of NaN, and so does a maximum of +inf or −inf. −inf among finite numbers "
          "gives −inf.",
      .source = "Blanchard, Higham and Higham, Accurately Computing the Log-Sum-Exp and Softmax Functions, 2021",
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
