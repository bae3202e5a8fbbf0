#include "kernels/operators.h"

namespace lanefold::kernels {

Operator cross_entropy_operator() {
  return {
      .name = "cross_entropy",
      .aliases = {"softmax_cross_entropy", "sparse_softmax_cross_entropy"},
      .text = R"(program cross_entropy(x: T[rows, cols], label: i32[rows], ignore_index = -100)
  m    = fold max x
  loss = log(fold sum exp(x - m)) - (gather(x, label) - m)
  store y: f32[rows] = select(label == i32(ignore_index), 0, loss)
)",
      .summary = "cross-entropy of each row of logits with its label, in f32",
      .formula = "y = log Σ exp(x − m) − (x[label] − m), m = max x; 0 where label = ignore_index",
      .special_values =
          "A label outside of the row gives NaN, unless it is ignore_index, which gives 0 whatever the row "
          "holds. NaN anywhere gives NaN, and so does a maximum of +inf or −inf. −inf at the label gives "
          "+inf.",
      .source =
          "Bishop, Pattern Recognition and Machine Learning, 2006, section 4.3.4; shifted by the maximum as "
          "log_softmax is",
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 2e-5,
      .code_tolerance = 0,
      .integers = false,
  };
}

}  // namespace lanefold::kernels
