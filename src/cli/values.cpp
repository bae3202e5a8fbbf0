#include "cli/values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/registry.h"
#include "plan/layout.h"

namespace lanefold::cli {
namespace {

Diagnostic not_a_number(const std::string& place, const std::string& text, std::string hint) {
  return {Code::number_invalid, fmt::format("\"{}\" is not such a number", text), std::move(hint), place};
}

}  // namespace

Result<std::int64_t> parse_count(const std::string& option, const std::string& text, std::int64_t least,
                                 std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return not_a_number(option, text, fmt::format("{} wants a whole number from {} to {}", option, least, most));
  return value;
}

Result<std::optional<std::uint32_t>> parse_optional_count(const std::string& option, const std::string& text,
                                                          std::uint32_t least, std::uint32_t most) {
  if (text.empty()) return std::optional<std::uint32_t>();
  LANEFOLD_TRY(const std::int64_t value, parse_count(option, text, least, most));
  return std::optional(static_cast<std::uint32_t>(value));
}

Result<std::uint32_t> parse_alignment(const std::string& text, std::int64_t cols) {
  if (text.empty()) return plan::dense_alignment(cols);
  LANEFOLD_TRY(const std::int64_t value, parse_count("--alignment", text, 1, plan::kMostAlignment));
  const auto alignment = static_cast<std::uint32_t>(value);
  if (!std::has_single_bit(alignment))
    return not_a_number("--alignment", text, fmt::format("give 1, 2, 4, 8 or {}", plan::kMostAlignment));
  if (cols % value != 0)
    return Diagnostic{Code::number_invalid,
                      fmt::format("rows of {} columns do not all begin at multiples of {} elements", cols, alignment),
                      fmt::format("give at most {}, which divides the columns", plan::dense_alignment(cols)),
                      "--alignment"};
  return alignment;
}

Result<double> parse_number(const std::string& place, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return not_a_number(place, text, "give a decimal number, such as 1e-6");
  return value;
}

Result<float> parse_real(const std::string& place, const std::string& text) {
  LANEFOLD_TRY(const double value, parse_number(place, text));
  const auto real = static_cast<float>(value);
  if (std::isinf(real) && !std::isinf(value))
    return not_a_number(place, text, "parameters are f32: give a number that f32 can hold");
  return real;
}

Result<ElementType> parse_storage(const std::string& text) {
  const auto type = element_from_name(text);
  const auto& known = kernels::all_storages();
  if (type && std::find(known.begin(), known.end(), *type) != known.end()) return *type;
  std::vector<std::string_view> names;
  for (const ElementType t : known) names.push_back(element_name(t));
  return Diagnostic{Code::unknown_dtype, fmt::format("operators are not stored in a type \"{}\"", text),
                    fmt::format("the types are: {}", fmt::join(names, ", ")), "--dtype"};
}

Result<ir::Order> parse_order(const std::string& text) {
  if (const auto order = ir::order_from_name(text)) return *order;
  return Diagnostic{Code::unknown_order, fmt::format("there is no fold order \"{}\"", text),
                    "the orders are: canonical, serial, free", "--order"};
}

Result<Assignments> parse_assignments(const std::string& option, const std::vector<std::string>& texts) {
  Assignments assignments;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string place = fmt::format("{} {}", option, text);
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
      return Diagnostic{
          Code::assignment_malformed, fmt::format("\"{}\" is not NAME=VALUE", text),
          fmt::format("write {} NAME={}", option, option == "--in" || option == "--out" ? "FILE" : "NUMBER"), place};
    std::string name = text.substr(0, equals);
    if (std::any_of(assignments.begin(), assignments.end(), [&](const auto& known) { return known.first == name; }))
      return Diagnostic{Code::assignment_repeated, fmt::format("{} is given twice", name),
                        fmt::format("give {} {}=... once", option, name), place};
    assignments.emplace_back(std::move(name), text.substr(equals + 1));
  }
  return assignments;
}

}  // namespace lanefold::cli
