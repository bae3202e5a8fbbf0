// Reading results.json. It trusts nothing: every field is checked for its type and range before it is used.
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/results/results.h"
#include "bench/results/results_fields.h"
#include "tensor/file_diagnostic.h"
#include "tensor/mapped_file.h"

namespace lanefold::bench {
namespace {

using nlohmann::json;

constexpr const char* kWriteAgain = "give a file that lanefold has written, as it has written it";

/// Deeper than any plan; what walks the values of a text is recursive.
constexpr int kDeepest = 64;

/// Reads the fields of one object after another into records, and remembers the first fault with the path to it.
class Reader {
 public:
  Reader(const json& object, const std::string& place) : object_(&object), place_(place) {}

  const std::optional<Diagnostic>& fault() const { return fault_; }

  template <class T>
  void operator()(const char* key, T& out, Bounds bounds = {}) {
    at(key, [&](const json& value) { read(value, out, bounds); });
  }

  template <class T>
  void later(const char* key, T& out, const Bounds& bounds = {}) {
    if (!fault_ && object_->contains(key)) (*this)(key, out, bounds);
  }

  void one_of(const char* key, std::string& out, std::initializer_list<std::string_view> names) {
    at(key, [&](const json& value) {
      read(value, out, {});
      for (const std::string_view name : names) {
        if (out == name) return;
      }
      wrong(fmt::format("one of {}", fmt::join(names, ", ")), value);
    });
  }

  void plan(const char* key, std::string& out) {
    at(key, [&](const json& value) {
      if (value.is_null()) return;
      if (!value.is_object()) return wrong("an object or null", value);
      // As plan::to_json writes it.
      out = value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    });
  }

  template <class A, class B>
  void same_length(const char* key, const A& list, const char* other_key, const B& other) {
    if (list.empty() || list.size() == other.size()) return;
    at(key, [&](const json&) {
      refuse(fmt::format("it has {} elements, and {} has {}", list.size(), other_key, other.size()));
    });
  }

 private:
  /// Calls `action` with a field of the current object, unless there has been a fault.
  template <class Action>
  void at(const char* key, Action action) {
    if (fault_) return;
    const std::size_t length = path_.size();
    if (!path_.empty()) path_ += '.';
    path_ += key;
    const auto found = object_->find(key);
    if (found == object_->end()) {
      refuse("the field is missing");
    } else {
      action(*found);
    }
    path_.resize(length);
  }

  void wrong(std::string_view wanted, const json& value) {
    refuse(fmt::format("it has to be {}, and is {}", wanted, shown(value)));
  }

  void refuse(std::string what) {
    if (fault_) return;
    fault_ = Diagnostic{Code::results_malformed, std::move(what), kWriteAgain, fmt::format("{}: {}", place_, path_)};
  }

  static std::string shown(const json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    if (const auto* text = value.get_ptr<const std::string*>()) return '"' + tensor::printable(*text) + '"';
    return value.dump();
  }

  void read(const json& value, std::string& out, Bounds) {
    const auto* text = value.get_ptr<const std::string*>();
    if (text == nullptr) return wrong("a text", value);
    out = *text;
  }

  void read(const json& value, bool& out, Bounds) {
    if (!value.is_boolean()) return wrong("true or false", value);
    out = value.get<bool>();
  }

  void read(const json& value, double& out, Bounds bounds) {
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!std::isfinite(number)) return wrong("a number", value);
    if (number < bounds.least) return wrong(fmt::format("at least {}", bounds.least), value);
    if (number > bounds.most) return wrong(fmt::format("at most {}", bounds.most), value);
    out = number;
  }

  template <std::integral T>
  void read(const json& value, T& out, Bounds bounds) {
    // A JSON number without sign and fraction is unsigned here; all others are of another type.
    const auto* number = value.get_ptr<const json::number_unsigned_t*>();
    if (number == nullptr) return wrong("a whole number, not negative", value);
    if (static_cast<double>(*number) < bounds.least) return wrong(fmt::format("at least {}", bounds.least), value);
    if (static_cast<double>(*number) > bounds.most) return wrong(fmt::format("at most {}", bounds.most), value);
    if (!std::in_range<T>(*number)) return wrong(fmt::format("at most {}", std::numeric_limits<T>::max()), value);
    out = static_cast<T>(*number);
  }

  void read(const json& value, PairKind& out, Bounds) {
    read_name(value, out, pair_kind_name, {PairKind::ab, PairKind::aa, PairKind::bb});
  }
  void read(const json& value, Claim& out, Bounds) {
    read_name(value, out, claim_name, {Claim::faster, Claim::slower, Claim::no_difference_shown});
  }
  template <class Enum>
  void read_name(const json& value, Enum& out, std::string_view (*name)(Enum), std::initializer_list<Enum> all) {
    const auto* text = value.get_ptr<const std::string*>();
    std::vector<std::string_view> names;
    for (const Enum each : all) {
      names.push_back(name(each));
      if (text == nullptr || *text != name(each)) continue;
      out = each;
      return;
    }
    wrong(fmt::format("one of {}", fmt::join(names, ", ")), value);
  }

  template <class T>
  void read(const json& value, std::optional<T>& out, Bounds bounds) {
    if (value.is_null()) return;
    read(value, out.emplace(), bounds);
  }

  template <class T>
  void read(const json& value, std::vector<T>& out, Bounds bounds) {
    if (!value.is_array()) return wrong("a list", value);
    out.reserve(value.size());
    const std::size_t length = path_.size();
    for (const json& element : value) {
      path_ += fmt::format("[{}]", out.size());
      read(element, out.emplace_back(), bounds);
      if (fault_) return;
      path_.resize(length);
    }
  }

  void read(const json& value, std::map<std::string, double>& out, Bounds bounds) {
    if (!value.is_object()) return wrong("an object", value);
    const std::size_t length = path_.size();
    for (auto element = value.begin(); element != value.end() && !fault_; ++element) {
      path_ += '.' + tensor::printable(element.key());
      read(*element, out[element.key()], bounds);
      path_.resize(length);
    }
  }

  template <class Record>
    requires std::is_class_v<Record>
  void read(const json& value, Record& out, Bounds) {
    if (!value.is_object()) return wrong("an object", value);
    const json* outer = object_;
    object_ = &value;
    visit_fields(*this, out);
    object_ = outer;
  }

  const json* object_;
  const std::string& place_;
  std::string path_;  ///< from the root, such as "cases[3].arms[0].wall_us"
  std::optional<Diagnostic> fault_;
};

/// The greatest number of brackets that are open at once in a JSON text.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

Place position(std::string_view text, std::size_t offset) {
  Place at{1, 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else {
      ++at.column;
    }
  }
  return at;
}

Result<json> parse(std::string_view text, const std::string& place) {
  const auto malformed = [&](std::size_t offset, const char* what) {
    return Diagnostic{Code::results_malformed, what, kWriteAgain, place_text(place, position(text, offset))};
  };
  // The parser would take a zero byte for the end.
  if (const std::size_t zero = text.find('\0'); zero != text.npos)
    return malformed(zero, "this byte cannot be in JSON");
  json whole;
  try {
    whole = json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    if (error.byte > text.size()) {
      return Diagnostic{Code::results_truncated,
                        fmt::format("the text ends in the middle, after {} bytes", text.size()),
                        "copy the whole file, or measure again", place};
    }
    return malformed(error.byte == 0 ? 0 : error.byte - 1, "this is no JSON");
  } catch (const json::exception&) {
    return Diagnostic{Code::results_malformed, "a number is too large for a double", kWriteAgain, place};
  }
  if (nesting(text) > kDeepest) {
    return Diagnostic{Code::results_malformed, fmt::format("it is nested deeper than {} levels", kDeepest), kWriteAgain,
                      place};
  }
  return whole;
}

Status check_schema(const json& whole, const std::string& place) {
  const std::string reads = fmt::format("this build reads version {} of {}", kSchemaVersion, kSchemaName);
  const auto of_schema = [&](const char* key) -> const json& {
    static const json none;
    const auto schema = whole.find("schema");
    if (schema == whole.end() || !schema->is_object() || !schema->contains(key)) return none;
    return schema->at(key);
  };
  if (of_schema("name") != kSchemaName) {
    return Diagnostic{Code::results_schema, "it does not say that it holds results of lanefold; " + reads,
                      "give a results.json, or a folder with one", place};
  }
  if (const json& version = of_schema("version"); version != kSchemaVersion) {
    const std::string what = version.is_number_integer() ? version.dump() : "none that could be read";
    return Diagnostic{Code::results_schema, fmt::format("its schema has version {}; {}", what, reads),
                      "read it with the version of lanefold that wrote it, or measure again", place};
  }
  return success();
}

}  // namespace

Result<Results> results_from_json(std::string_view text, const std::string& place) {
  LANEFOLD_TRY(const json whole, parse(text, place));
  if (!whole.is_object()) {
    return Diagnostic{Code::results_malformed, "it is JSON, and not an object", kWriteAgain, place};
  }
  LANEFOLD_CHECK(check_schema(whole, place));
  Results results;
  Reader reader(whole, place);
  visit_fields(reader, results);
  if (reader.fault()) return *reader.fault();
  return results;
}

Result<Results> read_results(const std::string& path) {
  std::error_code unknown;
  const bool folder = std::filesystem::is_directory(path, unknown);
  const std::string file = folder ? (std::filesystem::path(path) / "results.json").string() : path;
  LANEFOLD_TRY(const tensor::MappedFile mapped, tensor::map_file(file));
  return results_from_json({reinterpret_cast<const char*>(mapped.bytes.data()), mapped.bytes.size()}, file);
}

}  // namespace lanefold::bench
