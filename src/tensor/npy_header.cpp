// The header of a .npy file: magic, version, length, and a Python dictionary of three known keys.
#include <fmt/format.h>

#include <cctype>
#include <limits>
#include <string_view>

#include "tensor/file_diagnostic.h"
#include "tensor/npy.h"

namespace lanefold::tensor {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionEnd = 8;

Diagnostic malformed(const std::string& what) {
  return {Code::npy_header_malformed, "the .npy header is malformed: " + what, "write the file again with numpy.save",
          ""};
}

/// Reads the literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } with keys in any order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<NpyHeader> parse() {
    NpyHeader header;
    bool have_descr = false;
    bool have_order = false;
    bool have_shape = false;
    if (!take('{')) return expected("'{'");
    while (!take('}')) {
      std::string key;
      if (!take_string(key)) return expected("a key or '}'");
      if (!take(':')) return expected("':'");
      if (key == "descr" && !have_descr) {
        have_descr = true;
        if (peek() == '[') {
          return Diagnostic{Code::dtype_unsupported, "the .npy file holds records with several fields",
                            "save each field as an array of its own", ""};
        }
        if (!take_string(header.descr)) return expected("a type string");
      } else if (key == "fortran_order" && !have_order) {
        have_order = true;
        if (!take_boolean(header.fortran_order)) return expected("True or False");
      } else if (key == "shape" && !have_shape) {
        have_shape = true;
        LANEFOLD_CHECK(take_shape(header.shape));
      } else {
        return malformed(fmt::format("key '{}' is unknown or repeated", printable(key)));
      }
      if (!take(',') && peek() != '}') return expected("',' or '}'");
    }
    skip_space();
    if (at_ < text_.size()) return expected("the end of the header");
    if (!have_descr || !have_order || !have_shape) {
      return malformed(fmt::format("key '{}' is missing", !have_descr   ? "descr"
                                                          : !have_order ? "fortran_order"
                                                                        : "shape"));
    }
    return header;
  }

 private:
  Diagnostic expected(const char* what) const {
    return malformed(fmt::format("expected {} at byte {} of the dictionary", what, at_));
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  /// The next character after spaces; '\0' at the end.
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool take_string(std::string& value) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.find('\\') != std::string::npos) return false;  // no key or type string needs an escape
    at_ = end + 1;
    return true;
  }

  bool take_boolean(bool& value) {
    value = take_word("True");
    return value || take_word("False");
  }

  Status take_shape(std::vector<std::int64_t>& shape) {
    if (!take('(')) return expected("'('");
    bool comma = false;
    while (!take(')')) {
      if (!shape.empty() && !comma) return expected("',' or ')'");
      if (shape.size() == kMaxDimensions) {
        return Diagnostic{Code::shape_overflow, fmt::format("the shape has more than {} dimensions", kMaxDimensions),
                          "join dimensions before saving the array", ""};
      }
      std::int64_t size = 0;
      LANEFOLD_CHECK(take_size(size));
      shape.push_back(size);
      comma = take(',');
    }
    // "(3)" is a number in Python, not a tuple.
    if (shape.size() == 1 && !comma) return malformed("the shape is a number and not a tuple");
    return success();
  }

  Status take_size(std::int64_t& value) {
    if (!std::isdigit(static_cast<unsigned char>(peek()))) return expected("a size");
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      const std::int64_t digit = text_[at_++] - '0';
      if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10) {
        return Diagnostic{Code::shape_overflow, "a size in the .npy header does not fit in 63 bits",
                          "check the shape in the file's header", ""};
      }
      value = value * 10 + digit;
    }
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a long of Python 2
    return success();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) {
    return Diagnostic{Code::file_not_npy, "the file does not begin with the mark of a .npy file",
                      "write it with numpy.save; an .npz archive must be unpacked first", ""};
  }
  const auto truncated = [&](std::size_t need) {
    return Diagnostic{Code::file_truncated,
                      fmt::format("the file has {} bytes, and its header alone needs {}", file.size(), need),
                      "write or copy the file again", ""};
  };
  if (file.size() < kVersionEnd) return truncated(kVersionEnd + 2);
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  const std::size_t major = byte(6);
  if (major < 1 || major > 3 || byte(7) != 0) {
    return Diagnostic{Code::npy_version_unsupported,
                      fmt::format("the file is of .npy version {}.{}, which is not known", major, byte(7)),
                      "write it as version 1.0, 2.0 or 3.0", ""};
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = kVersionEnd + length_bytes;
  if (file.size() < begin) return truncated(begin);
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte(kVersionEnd + i) << (8 * i);
  if (file.size() - begin < length) return truncated(begin + length);
  LANEFOLD_TRY(NpyHeader header, HeaderParser(text.substr(begin, length)).parse());
  header.data_offset = begin + length;
  return header;
}

Result<std::string> npy_header_text(ElementType type, std::span<const std::int64_t> shape) {
  const char* descr = nullptr;
  switch (type) {
    case ElementType::boolean: descr = "|b1"; break;
    case ElementType::i8: descr = "|i1"; break;
    case ElementType::i32: descr = "<i4"; break;
    case ElementType::i64: descr = "<i8"; break;
    case ElementType::f32: descr = "<f4"; break;
    case ElementType::f16: descr = "<f2"; break;
    case ElementType::bf16: descr = "<V2"; break;
    case ElementType::e4m3:
    case ElementType::e5m2: descr = "|V1"; break;
    case ElementType::f64:
      return Diagnostic{Code::dtype_unsupported, "a tensor of f64 is not written to .npy files",
                        "convert it to f32 first", ""};
  }
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", descr);
  for (const std::int64_t size : shape) dictionary += fmt::format("{}, ", size);
  if (shape.size() > 1) dictionary.resize(dictionary.size() - 2);
  if (shape.size() == 1) dictionary.pop_back();  // "(3,)"
  dictionary += "), }";
  // Magic, version and length are 10 bytes; the dictionary ends with a newline.
  const std::size_t total = (10 + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.append(total - 10 - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace lanefold::tensor
