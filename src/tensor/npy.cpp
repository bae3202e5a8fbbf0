#include "tensor/npy.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "tensor/file_diagnostic.h"
#include "tensor/mapped_file.h"

namespace lanefold::tensor {
namespace {

static_assert(std::endian::native == std::endian::little, "files are mapped as they are: little-endian");

struct DescrEntry {
  std::string_view descr;  ///< without the byte order
  ElementType type;
};

constexpr std::array kDescrs = {
    DescrEntry{"f4", ElementType::f32},        DescrEntry{"f2", ElementType::f16},
    DescrEntry{"i1", ElementType::i8},         DescrEntry{"i4", ElementType::i32},
    DescrEntry{"i8", ElementType::i64},        DescrEntry{"b1", ElementType::boolean},
    DescrEntry{"bfloat16", ElementType::bf16}, DescrEntry{"float8_e4m3fn", ElementType::e4m3},
    DescrEntry{"f1", ElementType::e5m2},       DescrEntry{"float8_e5m2", ElementType::e5m2},
};

Diagnostic unsupported(const std::string& descr) {
  const bool is_double = descr.ends_with("f8");
  return {Code::dtype_unsupported, fmt::format("elements of numpy type '{}' are not supported", printable(descr)),
          is_double ? "save it as float32: array.astype(numpy.float32)"
                    : "save it as float32, float16, int8, int32, int64 or bool, or as bfloat16 with dtype bf16",
          ""};
}

/// A type for elements that numpy knows only as so many raw bytes.
Result<ElementType> raw_element_type(const std::string& descr, std::size_t bytes, std::optional<ElementType> dtype) {
  if (!dtype) {
    return Diagnostic{Code::dtype_needed, fmt::format("numpy type '{}' does not say what its elements are", descr),
                      bytes == 2 ? "say it with dtype bf16" : "say it with dtype e4m3 or e5m2", ""};
  }
  const bool fits =
      bytes == 2 ? *dtype == ElementType::bf16 : *dtype == ElementType::e4m3 || *dtype == ElementType::e5m2;
  if (fits) return *dtype;
  return Diagnostic{
      Code::dtype_mismatch,
      fmt::format("the file holds raw elements of {} bytes ('{}'), not {}", bytes, descr, element_name(*dtype)),
      bytes == 2 ? "only dtype bf16 reads them" : "only dtype e4m3 or e5m2 reads them", ""};
}

/// The tensor over mapped memory, or a copy where the elements are not aligned.
Tensor tensor_over(const MappedFile& file, std::size_t offset, NpyHeader header, ElementType type) {
  Tensor tensor;
  tensor.strides = contiguous_strides(header.shape, header.fortran_order);
  tensor.shape = std::move(header.shape);
  tensor.type = type;
  tensor.data = file.bytes.data() + offset;
  tensor.owner = file.owner;
  return aligned(std::move(tensor));
}

}  // namespace

Result<ElementType> npy_element_type(const std::string& descr, std::optional<ElementType> dtype) {
  std::string_view bare = descr;
  if (bare.starts_with('>')) {
    return Diagnostic{Code::byte_order_unsupported,
                      fmt::format("elements of numpy type '{}' are big-endian", printable(descr)),
                      "save it in little-endian order: array.astype(array.dtype.newbyteorder('<'))", ""};
  }
  if (!bare.empty() && std::string_view("<|=").find(bare.front()) != std::string_view::npos) bare.remove_prefix(1);
  if (bare == "V2") return raw_element_type(descr, 2, dtype);
  if (bare == "V1") return raw_element_type(descr, 1, dtype);
  for (const DescrEntry& entry : kDescrs) {
    if (entry.descr != bare) continue;
    if (dtype && *dtype != entry.type) {
      return Diagnostic{
          Code::dtype_mismatch,
          fmt::format("the file holds {} ('{}'), not {}", element_name(entry.type), descr, element_name(*dtype)),
          fmt::format("ask for {}, or convert the file", element_name(entry.type)), ""};
    }
    return entry.type;
  }
  return unsupported(descr);
}

Result<Tensor> read_npy(const std::string& path, std::optional<ElementType> dtype) {
  LANEFOLD_TRY(const MappedFile file, map_file(path));
  const auto read = [&]() -> Result<Tensor> {
    LANEFOLD_TRY(NpyHeader header, parse_npy_header(file.bytes));
    LANEFOLD_TRY(const ElementType type, npy_element_type(header.descr, dtype));
    LANEFOLD_TRY(const std::int64_t bytes, byte_count(header.shape, type));
    const std::size_t present = file.bytes.size() - header.data_offset;
    if (present < static_cast<std::size_t>(bytes)) {
      return Diagnostic{Code::file_truncated,
                        fmt::format("shape {} of {} needs {} bytes, and the file holds {}", shape_text(header.shape),
                                    element_name(type), bytes, present),
                        "write or copy the file again", ""};
    }
    const std::size_t offset = header.data_offset;
    return tensor_over(file, offset, std::move(header), type);
  };
  return placed(read(), path);
}

Status stage_npy(StagedFiles& files, const std::string& path, const Tensor& tensor) {
  LANEFOLD_TRY(const std::string header, placed(npy_header_text(tensor.type, tensor.shape), path));
  std::vector<std::byte> storage;
  return files.stage(path, {std::as_bytes(std::span(header)), contiguous_bytes(tensor, storage)});
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  StagedFiles files;
  LANEFOLD_CHECK(stage_npy(files, path, tensor));
  return files.commit();
}

}  // namespace lanefold::tensor
