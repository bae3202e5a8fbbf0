#include "kernels/registry.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/operators.h"

namespace lanefold::kernels {

namespace {

/// Levenshtein distance, letters of either case alike.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Operators whose name or alias is near the one given: a third of its letters differ, or one contains the other.
std::vector<std::string_view> close_names(std::string_view given) {
  std::vector<std::string_view> close;
  if (given.empty() || given.size() > 100) return close;
  const auto near = [&](std::string_view name) {
    const bool contains = given.size() >= 3 && (name.find(given) != name.npos || given.find(name) != given.npos);
    return contains || distance(given, name) <= std::max<std::size_t>(1, given.size() / 3);
  };
  for (const Operator& op : operators())
    if (near(op.name) || std::any_of(op.aliases.begin(), op.aliases.end(), near)) close.push_back(op.name);
  return close;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The text with each word `word` replaced.
std::string replaced(std::string_view text, char word, std::string_view by) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool alone = (i == 0 || !is_word(text[i - 1])) && (i + 1 == text.size() || !is_word(text[i + 1]));
    if (text[i] == word && alone) {
      out += by;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool mentions(const Operator& op, char word) { return replaced(op.text, word, "").size() != op.text.size(); }

Status check_request(const Operator& op, const Build& request) {
  const std::vector<ElementType>& offered = storages(op);
  if (std::find(offered.begin(), offered.end(), request.storage) == offered.end())
    return storage_not_offered(op, element_name(request.storage));
  if (!request.weights.empty()) {
    if (!takes_weights(op))
      return Diagnostic{Code::option_not_for_kernel, fmt::format("{} has no weights in a format of their own", op.name),
                        "leave the format of weights out", std::string(op.name)};
    const std::vector<std::string_view>& formats = weight_formats();
    if (std::find(formats.begin(), formats.end(), request.weights) == formats.end())
      return Diagnostic{Code::operator_storage,
                        fmt::format("{} is not offered with weights in \"{}\"", op.name, request.weights),
                        fmt::format("the formats are: {}", fmt::join(formats, ", ")), std::string(op.name)};
  }
  if (request.tokens == 1) return success();
  if (!takes_tokens(op))
    return Diagnostic{Code::option_not_for_kernel, fmt::format("{} takes no number of tokens", op.name),
                      "leave the tokens out", std::string(op.name)};
  if (request.tokens < 1 || request.tokens > kMostTokens)
    return Diagnostic{Code::number_invalid, fmt::format("{} of {} tokens", op.name, request.tokens),
                      fmt::format("use 1 to {}: more tokens are several calls", kMostTokens), std::string(op.name)};
  return success();
}

}  // namespace

const std::vector<Operator>& operators() {
  static const std::vector<Operator> list = {
#define LANEFOLD_OPERATOR(name) name##_operator(),
#include "kernels/operators.def"
#undef LANEFOLD_OPERATOR
  };
  return list;
}

const Operator* find(std::string_view name) {
  for (const Operator& op : operators())
    if (op.name == name || std::find(op.aliases.begin(), op.aliases.end(), name) != op.aliases.end()) return &op;
  return nullptr;
}

Result<const Operator*> find_or_explain(std::string_view name) {
  if (const Operator* op = find(name)) return op;
  std::vector<std::string_view> names = close_names(name);
  const bool any_close = !names.empty();
  if (!any_close)
    for (const Operator& op : operators()) names.push_back(op.name);
  return Diagnostic{Code::unknown_operator,
                    fmt::format("there is no operator {}", name.empty() ? "without a name" : name),
                    fmt::format("{} {}", any_close ? "close to it:" : "there are:", fmt::join(names, ", ")), ""};
}

const std::vector<ElementType>& storages() {
  static const std::vector<ElementType> list = {ElementType::f32, ElementType::f16, ElementType::bf16,
                                                ElementType::e4m3, ElementType::e5m2};
  return list;
}

const std::vector<ElementType>& all_storages() {
  static const std::vector<ElementType> list = [] {
    std::vector<ElementType> all = storages();
    all.push_back(ElementType::i8);
    return all;
  }();
  return list;
}

const std::vector<ElementType>& storages(const Operator& op) { return op.integers ? all_storages() : storages(); }

Diagnostic storage_not_offered(const Operator& op, std::string_view storage) {
  std::vector<std::string_view> names;
  for (const ElementType type : storages(op)) names.push_back(element_name(type));
  const std::vector<std::string_view>& formats = weight_formats();
  const bool of_weights = takes_weights(op) && std::find(formats.begin(), formats.end(), storage) != formats.end();
  return {Code::operator_storage, fmt::format("{} is not offered in {} storage", op.name, storage),
          fmt::format("use one of {}{}, or write the row program with the storage type that you need",
                      fmt::join(names, ", "), of_weights ? fmt::format(" with weights in {}", storage) : ""),
          std::string(op.name)};
}

const std::vector<std::string_view>& weight_formats() {
  static const std::vector<std::string_view> list = {"f32", "f16", "bf16", "e4m3", "e5m2", "q8_0"};
  return list;
}

bool takes_weights(const Operator& op) { return mentions(op, 'W'); }
bool takes_tokens(const Operator& op) { return mentions(op, 'K'); }

Result<ir::Program> declare(const Operator& op, const Build& request) {
  LANEFOLD_CHECK(check_request(op, request));
  const std::string storage(element_name(request.storage));
  std::string text = replaced(op.text, 'T', storage);
  text = replaced(text, 'W', request.weights.empty() ? storage : request.weights);
  text = replaced(text, 'K', std::to_string(request.tokens));
  return ir::parse(text, op.name);
}

Result<ir::Program> build(const Operator& op, const Build& request) {
  LANEFOLD_TRY(const ir::Program program, declare(op, request));
  return ir::specialise(program, request.known);
}

Result<ir::Program> build(const Operator& op, ElementType storage, const std::vector<std::string>& absent_inputs) {
  return build(op, {.storage = storage, .known = {.absent = absent_inputs}});
}

}  // namespace lanefold::kernels
