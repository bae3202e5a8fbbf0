// Tensors by one spelling for every file format: "file.npy" or "file.safetensors#name".
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace lanefold::tensor {

/// Reads the tensor that `spec` names; see read_npy and read_safetensors for `dtype`.
Result<Tensor> read_tensor(const std::string& spec, std::optional<ElementType> dtype = std::nullopt);

/// A tensor and where it goes.
struct Output {
  std::string spec;
  Tensor tensor;
};

/// Writes all outputs, or none: every file is first written under a temporary name, then all are renamed. Outputs that
/// name one safetensors file go into it together; a file that exists is replaced, not added to.
Status write_tensors(std::span<const Output> outputs);

/// Whether write_tensors would know where each spec goes, without writing: for refusing a wrong one before any work.
Status check_output_specs(std::span<const std::string> specs);

}  // namespace lanefold::tensor
