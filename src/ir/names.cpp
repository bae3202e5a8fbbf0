#include "ir/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lanefold::ir {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::string_view, 16> kWords = {"program", "monoid", "store", "fold", "of",  "let",
                                                     "and",     "or",     "not",   "rows", "f32", "i32",
                                                     "inf",     "nan",    "true",  "false"};

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::optional<Op> function_from_name(std::string_view name) {
#define LANEFOLD_OP(op, spelling, form, operands) \
  if (OpForm::form == OpForm::function && name == std::string_view(spelling)) return Op::op;
#include "ir/ops.def"
#undef LANEFOLD_OP
  return std::nullopt;
}

bool is_reserved(std::string_view text) {
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end() || function_from_name(text).has_value() ||
         text == op_spelling(Op::col) || text == op_spelling(Op::cols) || text == op_spelling(Op::gather);
}

std::optional<Diagnostic> name_fault(std::string_view name, std::string_view what) {
  if (!is_identifier(name)) {
    return Diagnostic{Code::reserved_name, fmt::format("'{}' cannot name a {}", name, what),
                      "a name is a letter or '_', then letters, digits and '_'", ""};
  }
  if (is_reserved(name) && what != "program") {
    return Diagnostic{Code::reserved_name,
                      fmt::format("'{}' is a word of the language and cannot name a {}", name, what),
                      fmt::format("choose another name, such as '{}_'", name), ""};
  }
  return std::nullopt;
}

bool has_own_name(Op op) {
  return op == Op::input || op == Op::parameter || op == Op::col || op == Op::cols || op == Op::rows;
}

const std::string& declared_name(const std::string& name, const Part& part) { return part.of.empty() ? name : part.of; }

std::string part_name(const std::string& name, const Part& part) {
  if (part.role == Part::Role::inner) return fmt::format("{}[{}]", part.of, part.index);
  return declared_name(name, part);
}

bool takes_column_index(const Monoid& monoid) {
  return monoid.builtin && (monoid.name == "argmax" || monoid.name == "argmin");
}

}  // namespace lanefold::ir
