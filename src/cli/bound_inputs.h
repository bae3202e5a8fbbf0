// The inputs of `lanefold run`: files bound to the names of a kernel's inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/view.h"
#include "cli/values.h"
#include "driver/kernel_name.h"
#include "tensor/tensor.h"

namespace lanefold::cli {

/// A program with matrices for its inputs, in the program's order.
struct BoundInputs {
  driver::ResolvedProgram resolved;  ///< in the storage type of the files, without the inputs that were left out
  ElementType storage = ElementType::f32;
  std::vector<tensor::Tensor> tensors;
  std::vector<View> views;
  std::vector<std::int64_t> leading;  ///< the dimensions before the columns: joined, they are the rows
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Maps the files and fits them to the kernel: every name is known, what cannot be left out is there, storage types and
/// shapes agree. `dtype` says what raw elements are.
/// `request` is what the kernel is built for otherwise.
Result<BoundInputs> bind_inputs(const driver::KernelName& kernel, const Assignments& files,
                                std::optional<ElementType> dtype, kernels::Build request);

}  // namespace lanefold::cli
