// Calls by name.
#pragma once

#include <vector>

#include "api/signature.h"

namespace lanefold::api {

/// A call by name, put in the order of the declarations.
struct Arguments {
  std::vector<ConstTensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<float> parameters;
};
Arguments arrange(const ir::Program& program, const Signature& signature, const std::vector<NamedInput>& inputs,
                  const std::vector<NamedOutput>& outputs, const std::vector<NamedParameter>& parameters);

}  // namespace lanefold::api
