#include "ir/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/names.h"

namespace lanefold::ir {

ProgramBuilder::ProgramBuilder(std::string name, std::string file) : body_(std::move(file)) {
  program_.name = std::move(name);
}

Expr ProgramBuilder::declare(std::string name, ElementType storage, Kind kind, std::optional<double> absent) {
  Input input;
  input.name = std::move(name);
  input.storage = storage;
  input.kind = kind;
  input.absent = absent;
  return {body_, add_input(std::move(input))};
}

Expr ProgramBuilder::input(std::string name, ElementType storage, std::optional<double> absent) {
  return declare(std::move(name), storage, Kind{Kind::Tag::element, 0}, absent);
}

Expr ProgramBuilder::row(std::string name, ElementType storage, std::optional<double> absent) {
  return declare(std::move(name), storage, Kind{Kind::Tag::row, 0}, absent);
}

Expr ProgramBuilder::column(std::string name, ElementType storage, std::optional<double> absent) {
  return declare(std::move(name), storage, Kind{Kind::Tag::column, 0}, absent);
}

Expr ProgramBuilder::blocks(std::string name, ElementType storage, std::uint32_t block, std::optional<double> absent) {
  return declare(std::move(name), storage, Kind{Kind::Tag::block, block}, absent);
}

Expr ProgramBuilder::parameter(std::string name, double value) {
  return {body_, add_parameter({std::move(name), value, {}})};
}

Expr ProgramBuilder::number(Expr value) { return {body_, value.in(body_)}; }
Expr ProgramBuilder::boolean(bool value) { return {body_, body_.boolean(value, Place{})}; }
Expr ProgramBuilder::col() { return {body_, add_leaf(Op::col)}; }
Expr ProgramBuilder::cols() { return {body_, add_leaf(Op::cols)}; }

Expr ProgramBuilder::fold(std::string_view monoid, const std::vector<Expr>& arguments, std::uint32_t block) {
  const std::vector<Expr> results = folds(monoid, arguments, block);
  if (results.empty()) return {body_, kNoValue};
  if (results.size() != 1) {
    body_.note(body_.at(
        {Code::wrong_result_count, fmt::format("fold {} has {} results, and one is taken", monoid, results.size()),
         "take them all: folds(…)", ""},
        Place{}));
    return {body_, kNoValue};
  }
  return results[0];
}

std::vector<Expr> ProgramBuilder::folds(std::string_view monoid, const std::vector<Expr>& arguments,
                                        std::uint32_t block) {
  std::vector<ValueId> ids;
  for (const Expr& argument : arguments) {
    ids.push_back(argument.in(body_));
    if (ids.back() == kNoValue) return {};
  }
  Result<std::vector<ValueId>> results = add_fold(monoid, std::move(ids), block, Place{});
  if (!results) {
    body_.note(results.error());
    return {};
  }
  std::vector<Expr> exprs;
  for (ValueId id : *results) exprs.emplace_back(body_, id);
  return exprs;
}

Expr ProgramBuilder::gather(Expr input, Expr index) {
  const ValueId source = input.in(body_);
  const ValueId at = index.in(body_);
  if (source == kNoValue || at == kNoValue) return {body_, kNoValue};
  Result<ValueId> result = add_gather(source, at, Place{});
  if (result) return {body_, *result};
  body_.note(result.error());
  return {body_, kNoValue};
}

void ProgramBuilder::store(std::string name, ElementType storage, Expr value) {
  const ValueId id = value.in(body_);
  if (id == kNoValue) return;
  Kind kind = body_.value(id).kind;
  if (kind.tag == Kind::Tag::uniform || kind.tag == Kind::Tag::column) kind = {Kind::Tag::element, 0};
  add_store({std::move(name), storage, kind, 1, id, {}});
}

void ProgramBuilder::store(std::string name, ElementType storage, Expr value, Kind kind) {
  const ValueId id = value.in(body_);
  if (id != kNoValue) add_store({std::move(name), storage, kind, 1, id, {}});
}

void ProgramBuilder::add_monoid(Monoid monoid) { known_.push_back(std::move(monoid)); }

ValueId ProgramBuilder::add_input(Input input) {
  if (input.absent && is_float(input.storage)) input.absent = as_f32(*input.absent);
  Value value;
  value.op = Op::input;
  value.type = register_type(input.storage);
  value.kind = input.kind;
  value.index = static_cast<std::uint32_t>(program_.inputs.size());
  value.place = input.place;
  program_.inputs.push_back(std::move(input));
  return body_.append(std::move(value));
}

ValueId ProgramBuilder::add_parameter(Parameter parameter) {
  parameter.value = as_f32(parameter.value);
  Value value;
  value.op = Op::parameter;
  value.index = static_cast<std::uint32_t>(program_.parameters.size());
  value.place = parameter.place;
  program_.parameters.push_back(std::move(parameter));
  return body_.append(std::move(value));
}

ValueId ProgramBuilder::add_leaf(Op op) {
  std::optional<ValueId>& known = op == Op::col ? col_ : cols_;
  if (!known) {
    Value value;
    value.op = op;
    value.type = ElementType::i32;
    if (op == Op::col) value.kind = {Kind::Tag::element, 0};
    known = body_.append(std::move(value));
  }
  return *known;
}

std::optional<std::uint32_t> ProgramBuilder::use_monoid(std::string_view name) {
  const auto named = [name](const Monoid& monoid) { return monoid.name == name; };
  std::vector<Monoid>& used = program_.monoids;
  if (const auto found = std::find_if(used.begin(), used.end(), named); found != used.end()) {
    return static_cast<std::uint32_t>(found - used.begin());
  }
  std::optional<Monoid> monoid;
  if (const auto found = std::find_if(known_.begin(), known_.end(), named); found != known_.end()) monoid = *found;
  if (!monoid) monoid = builtin_monoid(name);
  if (!monoid) return std::nullopt;
  used.push_back(std::move(*monoid));
  return static_cast<std::uint32_t>(used.size() - 1);
}

Result<std::vector<ValueId>> ProgramBuilder::add_fold(std::string_view name, std::vector<ValueId> arguments,
                                                      std::uint32_t block, Place place) {
  const std::optional<std::uint32_t> index = use_monoid(name);
  if (!index) {
    return body_.at(
        {Code::unknown_monoid, fmt::format("no monoid is named '{}'", name),
         "built in are sum, dot, prod, max, min, argmax, argmin, any, all, welford and logsumexp; define others "
         "before the program",
         ""},
        place);
  }
  const Monoid& monoid = program_.monoids[*index];
  if (takes_column_index(monoid) && arguments.size() == 1) arguments.push_back(add_leaf(Op::col));
  if (arguments.size() != monoid.element.size()) {
    return body_.at({Code::wrong_argument_count,
                     fmt::format("fold {} takes {} argument{}, and has {}", name, monoid.element.size(),
                                 monoid.element.size() == 1 ? "" : "s", arguments.size()),
                     "", ""},
                    place);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i] = body_.coerce(arguments[i], monoid.element[i].type);
  const auto number = static_cast<std::uint32_t>(program_.folds.size());
  program_.folds.push_back({*index, block, std::move(arguments), place});
  std::vector<ValueId> results;
  for (std::uint32_t component = 0; component < monoid.finish.results.size(); ++component) {
    const ValueType type = fold_type(monoid, component, block);
    Value value;
    value.op = Op::fold_result;
    value.type = type.type;
    value.kind = type.kind;
    value.index = number;
    value.component = component;
    value.place = place;
    results.push_back(body_.append(std::move(value)));
  }
  return results;
}

Result<ValueId> ProgramBuilder::add_gather(ValueId source, ValueId index, Place place) {
  if (body_.value(source).op != Op::input) {
    return body_.at({Code::gather_source, "the first argument of gather is not an input",
                     "gather reads an input itself; store a computed value and gather it in another program", ""},
                    place);
  }
  index = body_.coerce(index, ElementType::i32);
  const std::uint32_t input = body_.value(source).index;
  Result<ValueType> type = infer_gather(program_.inputs[input], body_.type(index));
  if (!type) return body_.at(type.error(), place);
  Value value;
  value.op = Op::gather;
  value.operands = {index};
  value.type = type->type;
  value.kind = type->kind;
  value.index = input;
  value.place = place;
  return body_.append(std::move(value));
}

void ProgramBuilder::add_store(Store store) {
  store.value =
      body_.coerce(store.value, register_type(store.storage) == ElementType::f32 ? ElementType::f32 : ElementType::i32);
  program_.stores.push_back(std::move(store));
}

Result<Program> ProgramBuilder::finish() {
  if (body_.fault()) return *body_.fault();
  program_.values = body_.take_values();
  std::vector<Diagnostic> faults = verify(program_, body_.file());
  if (!faults.empty()) return faults.front();
  return std::move(program_);
}

}  // namespace lanefold::ir
