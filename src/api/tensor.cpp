#include <algorithm>

#include <fmt/format.h>

#include "api/failure.h"
#include "lanefold/lanefold.h"

namespace lanefold {
namespace {

template <class Elements>
void fill(Elements& tensor, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (shape.size() > static_cast<std::size_t>(kMostDimensions) || shape.size() != strides.size())
    api::fail({Code::call_shape_mismatch,
               fmt::format("a tensor of {} dimensions with {} strides", shape.size(), strides.size()),
               fmt::format("use up to {} dimensions, and one stride for each", kMostDimensions), ""});
  tensor.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  std::copy(strides.begin(), strides.end(), tensor.strides.begin());
}

}  // namespace

ConstTensor::ConstTensor(const void* the_data, Type the_type, std::span<const std::int64_t> the_shape,
                         std::span<const std::int64_t> the_strides)
    : data(the_data), type(the_type) {
  fill(*this, the_shape, the_strides);
}

Tensor::Tensor(void* the_data, Type the_type, std::span<const std::int64_t> the_shape,
               std::span<const std::int64_t> the_strides)
    : data(the_data), type(the_type) {
  fill(*this, the_shape, the_strides);
}

Tensor::operator ConstTensor() const {
  ConstTensor result;
  result.data = data;
  result.type = type;
  result.rank = rank;
  result.shape = shape;
  result.strides = strides;
  return result;
}

}  // namespace lanefold
