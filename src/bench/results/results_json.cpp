// Writing results.json.
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/results/results.h"
#include "bench/results/results_fields.h"

namespace lanefold::bench {
namespace {

// Ordered: the file then reads in the order of the structs.
using nlohmann::ordered_json;

class Writer {
 public:
  template <class T>
  void operator()(const char* key, const T& value, Bounds = {}) {
    out_[key] = json_of(key, value);
  }

  template <class T>
  void later(const char* key, const T& value, const Bounds& = {}) {
    out_[key] = json_of(key, value);
  }

  void one_of(const char* key, const std::string& text, std::initializer_list<std::string_view>) { out_[key] = text; }

  void plan(const char* key, const std::string& text) {
    if (text.empty()) {
      out_[key] = nullptr;
      return;
    }
    // Not ordered, as plan::to_json writes it and as it is read again: equal plans are then equal texts.
    const nlohmann::json plan = nlohmann::json::parse(text, nullptr, false);
    if (!plan.is_object()) internal_error(fmt::format("results: {} holds no JSON object: {:.40}", key, text));
    out_[key] = ordered_json(plan);
  }

  template <class A, class B>
  void same_length(const char*, const A&, const char*, const B&) {}

  ordered_json take() { return std::move(out_); }

 private:
  template <class T>
  static ordered_json json_of(const char* key, const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      if (!std::isfinite(value)) internal_error(fmt::format("results: {} is not a finite number", key));
      return value;
    } else if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Writer record;
      visit_fields(record, value);
      return record.take();
    }
  }
  static ordered_json json_of(const char*, PairKind kind) { return std::string(pair_kind_name(kind)); }
  static ordered_json json_of(const char*, Claim claim) { return std::string(claim_name(claim)); }
  template <class T>
  static ordered_json json_of(const char* key, const std::optional<T>& value) {
    return value ? json_of(key, *value) : ordered_json();
  }
  template <class T>
  static ordered_json json_of(const char* key, const std::vector<T>& values) {
    ordered_json list = ordered_json::array();
    for (const T& value : values) list.push_back(json_of(key, value));
    return list;
  }
  static ordered_json json_of(const char* key, const std::map<std::string, double>& values) {
    ordered_json object = ordered_json::object();
    for (const auto& [name, value] : values) object[name] = json_of(key, value);
    return object;
  }

  ordered_json out_ = ordered_json::object();
};

/// The value on one line. Invalid UTF-8, which a command's arguments may hold, becomes U+FFFD: a JSON text cannot hold it.
std::string line(const ordered_json& value) {
  if (!value.is_structured()) return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string text;
  for (auto element = value.begin(); element != value.end(); ++element) {
    text += text.empty() ? "" : ", ";
    if (value.is_object()) text += line(element.key()) + ": ";
    text += line(*element);
  }
  return value.is_object() ? '{' + text + '}' : '[' + text + ']';
}

bool holds_no_containers(const ordered_json& value) {
  for (const ordered_json& element : value) {
    if (element.is_structured()) return false;
  }
  return true;
}

/// Prints what fits on one line on one line, and samples too: one number a line would bury everything else.
void print(const ordered_json& value, std::size_t indent, std::string& out) {
  constexpr std::size_t kLine = 120;
  const std::string whole = line(value);
  const bool list_of_scalars = value.is_array() && holds_no_containers(value);
  if (!value.is_structured() || value.empty() || list_of_scalars || indent + whole.size() <= kLine) {
    out += whole;
    return;
  }
  const std::string inner(indent + 1, ' ');
  bool first = true;
  out += value.is_object() ? "{" : "[";
  for (auto element = value.begin(); element != value.end(); ++element) {
    out += first ? "\n" : ",\n";
    first = false;
    out += inner;
    if (value.is_object()) out += line(element.key()) + ": ";
    print(*element, indent + 1, out);
  }
  out += "\n" + std::string(indent, ' ');
  out += value.is_object() ? "}" : "]";
}

}  // namespace

std::string to_json(const Results& results) {
  ordered_json whole = ordered_json::object();
  whole["schema"] = {{"name", kSchemaName}, {"version", kSchemaVersion}};
  Writer writer;
  visit_fields(writer, results);
  whole.update(writer.take());
  std::string text;
  print(whole, 0, text);
  text += '\n';
  return text;
}

}  // namespace lanefold::bench
