#include "ir/body_printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/names.h"
#include "ir/precedence.h"
#include "ir/print.h"

namespace lanefold::ir {
namespace {

bool is_leaf(const Value& value) { return has_own_name(value.op) || (value.op == Op::constant && value.name.empty()); }

std::string constant(const Value& value, int min_level) {
  const std::string number = print_number(value.literal, value.type);
  if (value.type == ElementType::i32) return fmt::format("i32({})", number);
  return number[0] == '-' && min_level > kLevelUnary ? fmt::format("({})", number) : number;
}

}  // namespace

BodyPrinter::BodyPrinter(const Program& program) : program_(&program), values_(program.values) {
  std::set<std::string> taken;
  for (const Input& input : program.inputs) taken.insert(input.name);
  for (const Parameter& parameter : program.parameters) {
    taken.insert(parameter.name);
    parameters_.push_back(parameter.name);
  }
  for (const Store& store : program.stores) taken.insert(store.name);
  std::vector<ValueId> results;
  for (const Store& store : program.stores) results.push_back(store.value);
  for (const Fold& fold : program.folds) results.insert(results.end(), fold.arguments.begin(), fold.arguments.end());
  tuple_names_.resize(program.folds.size());
  tuple_place_.resize(program.folds.size(), kNoValue);
  count_uses(results);
  choose_statements();
  choose_names(std::move(taken));
}

BodyPrinter::BodyPrinter(const Body& body, std::vector<std::string> parameters)
    : values_(body.values), parameters_(std::move(parameters)) {
  count_uses(body.results);
  choose_statements();
  choose_names({parameters_.begin(), parameters_.end()});
}

bool BodyPrinter::is_tuple(const Value& value) const {
  return value.op == Op::fold_result && fold_results(*program_, program_->folds.at(value.index)) > 1;
}

const std::vector<ValueId>& BodyPrinter::operands(ValueId id) const {
  const Value& value = values_.at(id);
  return value.op == Op::fold_result ? program_->folds.at(value.index).arguments : value.operands;
}

void BodyPrinter::count_uses(const std::vector<ValueId>& results) {
  uses_.assign(values_.size(), 0);
  for (const Value& value : values_) {
    for (ValueId operand : value.operands) ++uses_.at(operand);
  }
  for (ValueId result : results) ++uses_.at(result);
}

void BodyPrinter::choose_statements() {
  is_statement_.assign(values_.size(), false);
  std::vector<std::uint32_t> depth(values_.size(), 0);
  for (ValueId id = 0; id < values_.size(); ++id) {
    const Value& value = values_[id];
    if (is_leaf(value)) continue;
    std::uint32_t inside = 0;
    for (ValueId operand : operands(id)) inside = std::max(inside, depth.at(operand));
    is_statement_[id] = !value.name.empty() || uses_[id] > 1 || is_tuple(value) || inside + 1 > kMaxDepth;
    depth[id] = is_statement_[id] ? 0 : inside + 1;
  }
}

void BodyPrinter::choose_names(std::set<std::string> taken) {
  names_.resize(values_.size());
  for (ValueId id = 0; id < values_.size(); ++id) {
    if (!is_statement_[id]) continue;
    names_[id] = values_[id].name;
    if (!names_[id].empty()) taken.insert(names_[id]);
  }
  for (ValueId id = 0; id < values_.size(); ++id) {
    const Value& value = values_[id];
    if (!is_statement_[id] || !is_tuple(value)) continue;
    std::vector<std::string>& names = tuple_names_[value.index];
    if (names.empty()) {
      names.resize(fold_results(*program_, program_->folds[value.index]));
      tuple_place_[value.index] = id;
    }
    names.at(value.component) = names_[id];
  }
  std::uint32_t number = 0;
  const auto fresh = [&] {
    std::string name;
    do {
      name = fmt::format("t{}", ++number);
    } while (taken.contains(name));
    return name;
  };
  for (ValueId id = 0; id < values_.size(); ++id) {
    if (!is_statement_[id]) continue;
    const Value& value = values_[id];
    if (!is_tuple(value)) {
      if (names_[id].empty()) names_[id] = fresh();
      continue;
    }
    std::vector<std::string>& names = tuple_names_[value.index];
    if (tuple_place_[value.index] == id) {
      for (std::string& name : names) {
        if (name.empty()) name = fresh();
      }
    }
    names_[id] = names.at(value.component);
  }
}

std::vector<BodyPrinter::Statement> BodyPrinter::statements() const {
  std::vector<Statement> result;
  for (ValueId id = 0; id < values_.size(); ++id) {
    const Value& value = values_[id];
    if (!is_statement_[id]) continue;
    if (!is_tuple(value)) {
      result.push_back({{names_[id]}, expression(value, 0)});
    } else if (tuple_place_[value.index] == id) {
      result.push_back({tuple_names_[value.index], fold(value)});
    }
  }
  return result;
}

std::string BodyPrinter::text(ValueId id, int min_level) const {
  return is_statement_.at(id) ? names_[id] : expression(values_[id], min_level);
}

std::string BodyPrinter::list(const std::vector<ValueId>& ids) const {
  std::string result;
  for (ValueId id : ids) result += (result.empty() ? "" : ", ") + text(id, 0);
  return result;
}

std::string BodyPrinter::fold(const Value& value) const {
  const Fold& fold = program_->folds.at(value.index);
  const Monoid& monoid = program_->monoids.at(fold.monoid);
  std::vector<ValueId> arguments = fold.arguments;
  if (takes_column_index(monoid) && arguments.size() == 2 && values_.at(arguments[1]).op == Op::col)
    arguments.pop_back();
  std::string along = fold.block == 0 ? "" : fmt::format("<{}>", fold.block);
  if (fold.axis == Axis::rows) along = "[rows]";
  return fmt::format("fold{} {}({})", along, monoid.name, list(arguments));
}

std::string BodyPrinter::expression(const Value& value, int min_level) const {
  const auto grouped = [min_level](std::string inside, int level) {
    return level < min_level ? fmt::format("({})", inside) : inside;
  };
  switch (value.op) {
    case Op::constant: return constant(value, min_level);
    case Op::input: return program_->inputs.at(value.index).name;
    case Op::parameter: return parameters_.at(value.index);
    case Op::fold_result: return fold(value);
    case Op::gather:
      return fmt::format("gather({}, {})", program_->inputs.at(value.index).name, text(value.operands[0], 0));
    case Op::convert: return fmt::format("{}({})", element_name(value.type), text(value.operands[0], 0));
    case Op::neg: return grouped("-" + text(value.operands[0], kLevelApplication), kLevelUnary);
    case Op::logical_not: return grouped("not " + text(value.operands[0], kLevelNot), kLevelNot);
    default: break;
  }
  if (op_form(value.op) == OpForm::leaf) return std::string(op_spelling(value.op));
  if (op_form(value.op) == OpForm::function) return fmt::format("{}({})", op_spelling(value.op), list(value.operands));
  const int level = infix_level(value.op);
  const int left_level = level == kLevelCompare ? level + 1 : level;
  return grouped(fmt::format("{} {} {}", text(value.operands[0], left_level), op_spelling(value.op),
                             text(value.operands[1], level + 1)),
                 level);
}

}  // namespace lanefold::ir
