#include "tensor/safetensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/file_diagnostic.h"
#include "tensor/mapped_file.h"
#include "tensor/safetensors_header.h"

namespace lanefold::tensor {
namespace {

Result<Tensor> tensor_of(const MappedFile& file, const SafetensorsEntry& entry) {
  if (!entry.type) {
    return Diagnostic{Code::dtype_unsupported,
                      fmt::format("tensor \"{}\" is of type {}, which is not supported", printable(entry.name),
                                  printable(entry.dtype)),
                      "save it as F32, F16, BF16, F8_E4M3, F8_E5M2, I8, I32, I64 or BOOL", ""};
  }
  Tensor tensor;
  tensor.shape = entry.shape;
  tensor.strides = contiguous_strides(entry.shape);
  tensor.type = *entry.type;
  tensor.data = file.bytes.data() + entry.begin;
  tensor.owner = file.owner;
  return aligned(std::move(tensor));
}

Diagnostic missing(const std::string& name, std::span<const SafetensorsEntry> entries) {
  constexpr std::size_t kShown = 8;
  std::string hint = entries.empty() ? "it holds none" : "it holds ";
  for (std::size_t i = 0; i < std::min(kShown, entries.size()); ++i) {
    hint += (i == 0 ? "\"" : ", \"") + printable(entries[i].name) + "\"";
  }
  if (entries.size() > kShown) hint += fmt::format(" and {} more", entries.size() - kShown);
  return {Code::tensor_missing, fmt::format("the file has no tensor \"{}\"", printable(name)), hint, ""};
}

Result<Tensor> find_tensor(const MappedFile& file, const std::string& name, std::optional<ElementType> dtype) {
  LANEFOLD_TRY(const std::vector<SafetensorsEntry> entries, parse_safetensors_header(file.bytes));
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == name; });
  if (entry == entries.end()) return missing(name, entries);
  LANEFOLD_TRY(Tensor tensor, tensor_of(file, *entry));
  if (dtype && *dtype != tensor.type) {
    return Diagnostic{
        Code::dtype_mismatch,
        fmt::format("tensor \"{}\" holds {}, not {}", printable(name), element_name(tensor.type), element_name(*dtype)),
        fmt::format("ask for {}, or convert the file", element_name(tensor.type)), ""};
  }
  return tensor;
}

Result<std::vector<NamedTensor>> all_tensors(const MappedFile& file) {
  LANEFOLD_TRY(const std::vector<SafetensorsEntry> entries, parse_safetensors_header(file.bytes));
  std::vector<NamedTensor> tensors;
  for (const SafetensorsEntry& entry : entries) {
    LANEFOLD_TRY(Tensor tensor, tensor_of(file, entry));
    tensors.push_back({entry.name, std::move(tensor)});
  }
  return tensors;
}

}  // namespace

Result<Tensor> read_safetensors(const std::string& path, const std::string& name, std::optional<ElementType> dtype) {
  LANEFOLD_TRY(const MappedFile file, map_file(path));
  return placed(find_tensor(file, name, dtype), path);
}

Result<std::vector<NamedTensor>> list_safetensors(const std::string& path) {
  LANEFOLD_TRY(const MappedFile file, map_file(path));
  return placed(all_tensors(file), path);
}

Status stage_safetensors(StagedFiles& files, const std::string& path, std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& named : tensors) order.push_back(&named);
  // The widest elements first: then every tensor begins at a multiple of its element's size.
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return element_bytes(a->tensor.type) > element_bytes(b->tensor.type);
  });
  LANEFOLD_TRY(const std::string header, placed(safetensors_header_text(order), path));
  std::vector<std::vector<std::byte>> storage(order.size());
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(header))};
  for (std::size_t i = 0; i < order.size(); ++i) pieces.push_back(contiguous_bytes(order[i]->tensor, storage[i]));
  return files.stage(path, pieces);
}

Status write_safetensors(const std::string& path, std::span<const NamedTensor> tensors) {
  StagedFiles files;
  LANEFOLD_CHECK(stage_safetensors(files, path, tensors));
  return files.commit();
}

}  // namespace lanefold::tensor
