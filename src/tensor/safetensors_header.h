// The header of a safetensors file that is to be written.
#pragma once

#include <span>
#include <string>

#include "tensor/tensor.h"

namespace lanefold::tensor {

/// Length and JSON header of a file that holds these tensors one after the other, padded to a multiple of 8 bytes.
/// dtype_unsupported, tensor_name_invalid or output_repeated where the format cannot hold them.
Result<std::string> safetensors_header_text(std::span<const NamedTensor* const> tensors);

}  // namespace lanefold::tensor
