// The safetensors format: a length, a JSON header, and the tensors' bytes.
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

/// One tensor as the header describes it.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;                ///< as written, such as "BF16"
  std::optional<ElementType> type;  ///< empty for a dtype that is not supported
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  ///< offsets into the file
  std::size_t end = 0;
};

/// Parses and checks the header of a file, given whole: every entry lies in the file and has the size that its shape
/// needs, and the entries cover the data without holes or overlaps, as the format demands. In the header's order.
Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::span<const std::byte> file);

/// Maps one tensor of the file; `dtype`, if given, must agree. Elements that do not lie at a multiple of their size are
/// copied to memory.
Result<Tensor> read_safetensors(const std::string& path, const std::string& name,
                                std::optional<ElementType> dtype = std::nullopt);

/// Maps every tensor of the file; dtype_unsupported if one is of a type that is not supported.
Result<std::vector<NamedTensor>> list_safetensors(const std::string& path);

/// Writes a file of these tensors, in row-major order. The file appears whole or not at all.
Status write_safetensors(const std::string& path, std::span<const NamedTensor> tensors);

/// The same, staged to appear together with other files.
Status stage_safetensors(StagedFiles& files, const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace lanefold::tensor
