#include "verify/standard_inputs.h"

#include <algorithm>

#include "base/load_store.h"
#include "driver/call_check.h"

namespace lanefold::verify {

void fill_standard(const ir::Program& program, std::span<const View> inputs, std::int64_t cols) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const View& view = inputs[k];
    const std::int64_t seed = 5 + 6 * static_cast<std::int64_t>(k);
    for (std::int64_t r = 0; r < view.rows; ++r)
      for (std::int64_t c = 0; c < view.cols; ++c) {
        const std::int64_t i = r * view.cols + c;
        const std::int64_t dyadic = (i * seed + 17) % 127 - 63;
        if (is_float(view.type))
          store_element(view.at(r, c), view.type, static_cast<float>(dyadic) / 64.0f);
        else if (view.type == ElementType::i8)
          store_integer(view.at(r, c), view.type, dyadic);
        else
          store_integer(view.at(r, c), view.type, (13 * i + 7) % std::max<std::int64_t>(1, cols));
      }
  }
  if (inputs.size() != program.inputs.size()) internal_error("standard inputs for another program");
}

std::vector<Matrix> standard_inputs(const ir::Program& program, std::int64_t rows, std::int64_t cols) {
  std::vector<Matrix> inputs;
  for (const ir::Input& input : program.inputs) {
    const driver::Shape shape = driver::expected_shape(input.kind, rows, cols);
    inputs.emplace_back(input.storage, shape.rows, shape.cols);
  }
  fill_standard(program, views(inputs), cols);
  return inputs;
}

std::vector<Matrix> poisoned_outputs(const ir::Program& program, std::int64_t rows, std::int64_t cols) {
  std::vector<Matrix> outputs;
  for (const ir::Store& store : program.stores) {
    const driver::Shape shape = driver::expected_shape(store.kind, rows, cols);
    outputs.emplace_back(store.storage, shape.rows, shape.cols);
  }
  return outputs;
}

std::vector<float> default_parameters(const ir::Program& program) {
  std::vector<float> values;
  for (const ir::Parameter& parameter : program.parameters) values.push_back(static_cast<float>(parameter.value));
  return values;
}

std::vector<View> views(const std::vector<Matrix>& matrices) {
  std::vector<View> all;
  for (const Matrix& matrix : matrices) all.push_back(matrix.view());
  return all;
}

}  // namespace lanefold::verify
