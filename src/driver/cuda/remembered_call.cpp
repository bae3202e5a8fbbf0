#include "driver/cuda/remembered_call.h"

#include <algorithm>

#include "driver/cuda/row_kernel.h"

namespace lanefold::driver {
namespace {

bool same(const View& a, const View& b) {
  return a.data == b.data && a.type == b.type && a.rows == b.rows && a.cols == b.cols && a.row_stride == b.row_stride &&
         a.column_stride == b.column_stride && a.packing == b.packing;
}

bool all_same(std::span<const View> given, const std::vector<View>& known) {
  return std::equal(given.begin(), given.end(), known.begin(), known.end(), same);
}

}  // namespace

bool RememberedCall::fits(const runtime::Call& call) const {
  return launch_.kernel != nullptr && call.rows == rows_ && call.cols == cols_ &&
         call.parameters.size() == launch_.kernel->parameter_words.size() && all_same(call.inputs, inputs_) &&
         all_same(call.outputs, outputs_);
}

const CudaLaunch& RememberedCall::with(std::span<const float> parameters) {
  const std::vector<std::uint32_t>& places = launch_.kernel->parameter_words;
  for (std::size_t i = 0; i < parameters.size(); ++i) launch_.words[places[i]].real = parameters[i];
  return launch_;
}

void RememberedCall::keep(const runtime::Call& call, std::shared_ptr<const CudaClassKernel> kernel,
                          const runtime::LaunchShape& shape, std::span<const lane::ArgumentWord> words) {
  launch_.kernel = std::move(kernel);
  launch_.shape = shape;
  launch_.words.assign(words.begin(), words.end());
  inputs_.assign(call.inputs.begin(), call.inputs.end());
  outputs_.assign(call.outputs.begin(), call.outputs.end());
  rows_ = call.rows;
  cols_ = call.cols;
}

}  // namespace lanefold::driver
