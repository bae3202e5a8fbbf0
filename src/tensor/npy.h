// The .npy format, versions 1.0 to 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/staged_files.h"
#include "tensor/tensor.h"

namespace lanefold::tensor {

/// What the header of a .npy file says; the element type is resolved later, for it may need the caller's word.
struct NpyHeader {
  std::string descr;  ///< numpy's type string, such as "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
};

/// Parses the header at the start of a file of any content; trusts nothing.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> file);

/// The element type of a descr. `dtype`, if given, must agree; it decides what raw elements are ("<V2" is bf16 with dtype
/// bf16; "<V1" is fp8 with dtype e4m3 or e5m2). The names that ml_dtypes uses are known too.
Result<ElementType> npy_element_type(const std::string& descr, std::optional<ElementType> dtype);

/// Maps a .npy file. A column-major array keeps its order and gets strides to match. Elements that do not lie at a
/// multiple of their size are copied to memory.
Result<Tensor> read_npy(const std::string& path, std::optional<ElementType> dtype = std::nullopt);

/// The header of a .npy file of version 1.0 for this type and shape, padded so that the data begins at a multiple of 64;
/// dtype_unsupported for f64.
Result<std::string> npy_header_text(ElementType type, std::span<const std::int64_t> shape);

/// Writes the tensor in row-major order; bf16 as "<V2", fp8 as "|V1". The file appears whole or not at all.
Status write_npy(const std::string& path, const Tensor& tensor);

/// The same, staged to appear together with other files.
Status stage_npy(StagedFiles& files, const std::string& path, const Tensor& tensor);

}  // namespace lanefold::tensor
