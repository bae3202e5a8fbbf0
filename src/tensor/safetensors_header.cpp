// The header of a safetensors file:
// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key": "text", ...}}
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <nlohmann/json.hpp>

#include "tensor/file_diagnostic.h"
#include "tensor/safetensors.h"
#include "tensor/safetensors_header.h"

namespace lanefold::tensor {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit

struct DtypeEntry {
  std::string_view name;
  ElementType type;
};

constexpr std::array kDtypes = {
    DtypeEntry{"F32", ElementType::f32},      DtypeEntry{"F16", ElementType::f16},
    DtypeEntry{"BF16", ElementType::bf16},    DtypeEntry{"F8_E4M3", ElementType::e4m3},
    DtypeEntry{"F8_E5M2", ElementType::e5m2}, DtypeEntry{"I8", ElementType::i8},
    DtypeEntry{"I32", ElementType::i32},      DtypeEntry{"I64", ElementType::i64},
    DtypeEntry{"BOOL", ElementType::boolean},
};

Diagnostic malformed(const std::string& what) {
  return {Code::safetensors_malformed, "the safetensors file is malformed: " + what,
          "write the file again with the safetensors library", ""};
}

/// Takes the header's JSON event by event, so that a hostile one builds no tree and anything unexpected ends it.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<SafetensorsEntry> entries;
  std::string problem;  ///< why the reader stopped
  bool too_many_dimensions = false;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is no 64-bit integer");
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (where_ == Where::sizes) {
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return unexpected("a huge size");
      too_many_dimensions = entries.back().shape.size() == kMaxDimensions;
      entries.back().shape.push_back(static_cast<std::int64_t>(value));
      return !too_many_dimensions;
    }
    if (where_ == Where::offsets && offset_count_ < 2) {
      (offset_count_++ == 0 ? entries.back().begin : entries.back().end) = value;
      return true;
    }
    return unexpected("a number");
  }

  bool string(string_t& value) override {
    if (where_ == Where::metadata) return true;
    if (where_ != Where::dtype) return unexpected("a text");
    entries.back().dtype = value;
    return where_ = Where::fields, true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::start) return where_ = Where::names, true;
    if (where_ == Where::metadata_value) return where_ = Where::metadata, true;
    if (where_ == Where::entry) return where_ = Where::fields, true;
    return unexpected("an object");
  }

  bool key(string_t& value) override {
    if (where_ == Where::metadata) return true;
    if (where_ == Where::names) {
      if (!names_.insert(value).second) return stop(fmt::format("name \"{}\" occurs twice", printable(value)));
      if (value == "__metadata__") return where_ = Where::metadata_value, true;
      entries.emplace_back();
      entries.back().name = value;
      fields_ = 0;
      offset_count_ = 0;
      return where_ = Where::entry, true;
    }
    static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};
    static constexpr std::array kNext = {Where::dtype, Where::shape, Where::data_offsets};
    for (std::size_t i = 0; i < kFields.size(); ++i) {
      if (value != kFields[i] || (fields_ & (1u << i))) continue;
      fields_ |= 1u << i;
      return where_ = kNext[i], true;
    }
    return stop(fmt::format("{} has an unknown or repeated field \"{}\"", current(), printable(value)));
  }

  bool end_object() override {
    if (where_ == Where::fields) {
      if (fields_ != 7) return stop(current() + " lacks one of dtype, shape and data_offsets");
      return where_ = Where::names, true;
    }
    return where_ = where_ == Where::metadata ? Where::names : Where::end, true;
  }

  bool start_array(std::size_t) override {
    if (where_ == Where::shape) return where_ = Where::sizes, true;
    if (where_ == Where::data_offsets) return where_ = Where::offsets, true;
    return unexpected("an array");
  }

  bool end_array() override {
    if (where_ == Where::offsets && offset_count_ != 2) return stop(current() + " has not two data_offsets");
    return where_ = Where::fields, true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return stop(fmt::format("its header is no JSON at byte {}", position));
  }

 private:
  enum class Where {
    start,
    names,
    entry,
    fields,
    dtype,
    shape,
    sizes,
    data_offsets,
    offsets,
    metadata_value,
    metadata,
    end
  };

  std::string current() const {
    return entries.empty() || where_ == Where::names ? "the header" : "\"" + printable(entries.back().name) + "\"";
  }
  bool stop(std::string why) {
    problem = std::move(why);
    return false;
  }
  bool unexpected(const char* what) { return stop(fmt::format("{} has {} where it cannot be", current(), what)); }

  Where where_ = Where::start;
  unsigned fields_ = 0;  ///< a bit for each field of the entry seen so far
  int offset_count_ = 0;
  std::unordered_set<std::string> names_;
};

/// Offsets become offsets into the file here, checked against the data's size, the shape and each other.
Status place_entries(std::vector<SafetensorsEntry>& entries, std::size_t data, std::size_t size) {
  std::uint64_t last = 0;
  for (SafetensorsEntry& entry : entries) {
    const auto dtype =
        std::find_if(kDtypes.begin(), kDtypes.end(), [&](const auto& d) { return d.name == entry.dtype; });
    if (dtype != kDtypes.end()) entry.type = dtype->type;
    if (entry.end < entry.begin) {
      return malformed(fmt::format("\"{}\" ends before it begins", printable(entry.name)));
    }
    // Counted as bytes where the type is unknown: only the shape's product is looked at then.
    LANEFOLD_TRY(const std::int64_t need, byte_count(entry.shape, entry.type.value_or(ElementType::i8)));
    if (entry.type && static_cast<std::uint64_t>(need) != entry.end - entry.begin) {
      return malformed(fmt::format("\"{}\" of shape {} and type {} needs {} bytes and is given {}",
                                   printable(entry.name), shape_text(entry.shape), entry.dtype, need,
                                   entry.end - entry.begin));
    }
    last = std::max<std::uint64_t>(last, entry.end);
  }
  if (last > size) {
    return Diagnostic{Code::file_truncated, fmt::format("the tensors need {} bytes, and the file holds {}", last, size),
                      "write or copy the file again", ""};
  }
  std::vector<const SafetensorsEntry*> order;
  for (const SafetensorsEntry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->begin != b->begin ? a->begin < b->begin : a->end < b->end; });
  std::size_t covered = 0;
  for (const SafetensorsEntry* entry : order) {
    if (entry->begin != covered) {
      return malformed(fmt::format("\"{}\" {}", printable(entry->name),
                                   entry->begin < covered ? "overlaps another tensor" : "follows a hole in the data"));
    }
    covered = entry->end;
  }
  if (covered != size) return malformed(fmt::format("{} bytes follow the last tensor", size - covered));
  for (SafetensorsEntry& entry : entries) {
    entry.begin += data;
    entry.end += data;
  }
  return success();
}

std::string_view dtype_name(ElementType type) {
  for (const DtypeEntry& entry : kDtypes) {
    if (entry.type == type) return entry.name;
  }
  return "";
}

}  // namespace

Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) {
    return Diagnostic{Code::file_truncated, fmt::format("the file has {} bytes, too few for safetensors", file.size()),
                      "write or copy the file again", ""};
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(file[i]) << (8 * i);
  if (length > kMaxHeader) return malformed(fmt::format("its header claims {} bytes", length));
  if (length > file.size() - kLengthBytes) {
    return Diagnostic{Code::file_truncated,
                      fmt::format("the header needs {} bytes, and the file has {}", kLengthBytes + length, file.size()),
                      "write or copy the file again", ""};
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  if (!text.starts_with('{')) return malformed("its header does not begin with '{'");
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text, &reader)) {
    if (!reader.too_many_dimensions) return malformed(reader.problem);
    return Diagnostic{
        Code::shape_overflow,
        fmt::format("\"{}\" has more than {} dimensions", printable(reader.entries.back().name), kMaxDimensions),
        "join dimensions before saving the tensor", ""};
  }
  LANEFOLD_CHECK(place_entries(reader.entries, kLengthBytes + length, file.size() - kLengthBytes - length));
  return std::move(reader.entries);
}

Result<std::string> safetensors_header_text(std::span<const NamedTensor* const> tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::int64_t offset = 0;
  for (const NamedTensor* named : tensors) {
    const Tensor& tensor = named->tensor;
    const std::string_view dtype = dtype_name(tensor.type);
    if (dtype.empty()) {
      return Diagnostic{Code::dtype_unsupported,
                        fmt::format("a tensor of {} is not written to safetensors files", element_name(tensor.type)),
                        "convert it to f32 first", ""};
    }
    if (named->name == "__metadata__") {
      return Diagnostic{Code::tensor_name_invalid, "safetensors keeps the name \"__metadata__\" for itself",
                        "give the tensor another name", ""};
    }
    if (header.contains(named->name)) {
      return Diagnostic{Code::output_repeated, fmt::format("two tensors are named \"{}\"", printable(named->name)),
                        "give each tensor of the file a name of its own", ""};
    }
    LANEFOLD_TRY(const std::int64_t bytes, byte_count(tensor.shape, tensor.type));
    header[named->name] = {{"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {  // only a name can be at fault
    return Diagnostic{Code::tensor_name_invalid, "a tensor's name is not UTF-8", "give the tensor another name", ""};
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string prefix;
  for (std::size_t i = 0; i < kLengthBytes; ++i) prefix += static_cast<char>(std::uint64_t{text.size()} >> (8 * i));
  return prefix + text;
}

}  // namespace lanefold::tensor
