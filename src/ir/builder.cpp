#include "ir/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/names.h"
#include "ir/print.h"

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

Expr ProgramBuilder::column(std::string name, ElementType storage, std::optional<double> absent, std::uint32_t inner) {
  if (inner == 1) return declare(std::move(name), storage, Kind{Kind::Tag::column, 0}, absent);
  Input input;
  input.name = std::move(name);
  input.storage = storage;
  input.kind = {Kind::Tag::column, 0};
  input.absent = absent;
  return {body_, add_inputs(std::move(input), inner)};
}

Expr ProgramBuilder::quantised(const std::string& name) { return {body_, add_quantised(name, {}).value}; }

Expr ProgramBuilder::blocks(std::string name, ElementType storage, std::uint32_t block, std::optional<double> absent) {
  return declare(std::move(name), storage, Kind{Kind::Tag::block, block}, absent);
}

Expr ProgramBuilder::parameter(std::string name, double value) {
  return {body_, add_parameter({std::move(name), value, {}})};
}

Expr ProgramBuilder::option(std::string name, double value) {
  return {body_, add_parameter({.name = std::move(name), .value = value, .place = {}, .option = true})};
}

Expr ProgramBuilder::number(Expr value) { return {body_, value.in(body_)}; }
Expr ProgramBuilder::boolean(bool value) { return {body_, body_.boolean(value, Place{})}; }
Expr ProgramBuilder::col() { return {body_, add_leaf(Op::col)}; }
Expr ProgramBuilder::cols() { return {body_, add_leaf(Op::cols)}; }
Expr ProgramBuilder::rows() { return {body_, add_leaf(Op::rows)}; }

Expr ProgramBuilder::fold(std::string_view monoid, const std::vector<Expr>& arguments, std::uint32_t block) {
  return one(monoid, taken(monoid, arguments, {.block = block}));
}

Expr ProgramBuilder::fold_rows(std::string_view monoid, const std::vector<Expr>& arguments) {
  return one(monoid, taken(monoid, arguments, {.axis = Axis::rows}));
}

std::vector<Expr> ProgramBuilder::folds(std::string_view monoid, const std::vector<Expr>& arguments,
                                        std::uint32_t block) {
  return taken(monoid, arguments, {.block = block});
}

Expr ProgramBuilder::one(std::string_view monoid, const std::vector<Expr>& results) {
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

std::vector<Expr> ProgramBuilder::taken(std::string_view monoid, const std::vector<Expr>& arguments,
                                        FoldExtent extent) {
  std::vector<ValueId> ids;
  for (const Expr& argument : arguments) {
    ids.push_back(argument.in(body_));
    if (ids.back() == kNoValue) return {};
  }
  Result<std::vector<ValueId>> results = add_fold(monoid, std::move(ids), extent, Place{});
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
  const bool folded = !program_.folds.empty() && std::any_of(program_.folds.begin(), program_.folds.end(),
                                                             [](const Fold& f) { return f.axis == Axis::rows; });
  if (kind.tag == Kind::Tag::uniform || (kind.tag == Kind::Tag::column && !folded)) kind = {Kind::Tag::element, 0};
  store(std::move(name), storage, value, kind);
}

void ProgramBuilder::store(std::string name, ElementType storage, Expr value, Kind kind) {
  const ValueId id = value.in(body_);
  if (id == kNoValue) return;
  const auto inner = static_cast<std::uint32_t>(body_.places(id).size());
  if (const Status added = add_stores({std::move(name), storage, kind, id, {}}, inner); !added)
    body_.note(added.error());
}

void ProgramBuilder::store_quantised(std::string name, Expr value) {
  const ValueId id = value.in(body_);
  if (id == kNoValue) return;
  const Status added = add_quantised_store({std::move(name), ElementType::i8, {Kind::Tag::element, 0}, id, {}});
  if (!added) body_.note(added.error());
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

ValueId ProgramBuilder::add_inputs(Input input, std::uint32_t inner) {
  std::vector<ValueId> places;
  const std::string name = input.name;
  for (std::uint32_t i = 0; i < inner; ++i) {
    input.name = fmt::format("{}_{}", name, i);
    input.part = {Part::Role::inner, name, i, inner};
    places.push_back(add_input(input));
  }
  return body_.bundle(std::move(places));
}

Quantised ProgramBuilder::add_quantised(const std::string& name, Place place) {
  Input codes;
  codes.name = name + "_codes";
  codes.storage = ElementType::i8;
  codes.kind = {Kind::Tag::element, 0};
  codes.place = place;
  codes.part = {Part::Role::codes, name};
  Input scale;
  scale.name = name + "_scale";
  scale.storage = ElementType::f16;
  scale.kind = {Kind::Tag::block, kQ8Block};
  scale.place = place;
  scale.part = {Part::Role::scale, name};
  Quantised all;
  all.codes = add_input(std::move(codes));
  all.scale = add_input(std::move(scale));
  // Neither can be faulty: a number times a number.
  all.value = body_.operation(Op::mul, {body_.coerce(all.codes, ElementType::f32), all.scale}, place).value();
  return all;
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
  if (const auto known = leaves_.find(op); known != leaves_.end()) return known->second;
  Value value;
  value.op = op;
  value.type = ElementType::i32;
  if (op == Op::col) value.kind = {Kind::Tag::element, 0};
  return leaves_[op] = body_.append(std::move(value));
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
                                                      FoldExtent extent, Place place) {
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
  if (takes_column_index(monoid) && extent.axis == Axis::rows) {
    return body_.at({Code::unsupported_axis, fmt::format("fold {} along rows", name),
                     "it gives the column of an element, and along rows that is always the same", ""},
                    place);
  }
  if (arguments.size() != monoid.element.size()) {
    return body_.at({Code::wrong_argument_count,
                     fmt::format("fold {} takes {} argument{}, and has {}", name, monoid.element.size(),
                                 monoid.element.size() == 1 ? "" : "s", arguments.size()),
                     "", ""},
                    place);
  }
  if (arguments.empty()) return add_plain_fold(*index, std::move(arguments), extent, place);
  LANEFOLD_TRY(const auto spread_out, body_.spread(arguments, place));
  const std::size_t inner = spread_out[0].size();
  std::vector<std::vector<ValueId>> results;
  for (std::size_t i = 0; i < inner; ++i) {
    std::vector<ValueId> at_place;
    for (const std::vector<ValueId>& argument : spread_out) at_place.push_back(argument[i]);
    LANEFOLD_TRY(const std::vector<ValueId> own, add_plain_fold(*index, std::move(at_place), extent, place));
    results.resize(own.size());
    for (std::size_t k = 0; k < own.size(); ++k) results[k].push_back(own[k]);
  }
  std::vector<ValueId> bundles;
  for (std::vector<ValueId>& places : results)
    bundles.push_back(inner == 1 ? places[0] : body_.bundle(std::move(places)));
  return bundles;
}

Result<std::vector<ValueId>> ProgramBuilder::add_plain_fold(std::uint32_t index, std::vector<ValueId> arguments,
                                                            FoldExtent extent, Place place) {
  const Monoid& monoid = program_.monoids[index];
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i] = body_.coerce(arguments[i], monoid.element[i].type);
  const auto number = static_cast<std::uint32_t>(program_.folds.size());
  program_.folds.push_back({index, extent.block, std::move(arguments), place, extent.axis});
  std::vector<ValueId> results;
  for (std::uint32_t component = 0; component < monoid.finish.results.size(); ++component) {
    const ValueType type = fold_type(monoid, component, program_.folds.back());
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
  if (body_.is_bundle(source) || body_.is_bundle(index)) {
    LANEFOLD_TRY(const auto spread_out, body_.spread({source, index}, place));
    std::vector<ValueId> results;
    for (std::size_t i = 0; i < spread_out[0].size(); ++i) {
      LANEFOLD_TRY(results.emplace_back(), add_gather(spread_out[0][i], spread_out[1][i], place));
    }
    return body_.bundle(std::move(results));
  }
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

Status ProgramBuilder::add_stores(Store store, std::uint32_t inner) {
  std::vector<ValueId> places = body_.places(store.value);
  if (places.size() != 1 && places.size() != inner) {
    return body_.at(
        {Code::kind_mismatch,
         fmt::format("output '{}' cannot hold a value with an inner axis of {}", store.name, places.size()),
         fmt::format("declare it as {}[{}]{}", element_name(store.storage), places.size(), print_shape(store.kind)),
         ""},
        store.place);
  }
  places.resize(inner, places[0]);
  const std::string name = store.name;
  for (std::uint32_t i = 0; i < inner; ++i) {
    store.value = places[i];
    if (inner > 1) {
      store.name = fmt::format("{}_{}", name, i);
      store.part = {Part::Role::inner, name, i, inner};
    }
    add_store(store);
  }
  return success();
}

Status ProgramBuilder::add_quantised_store(Store store) {
  const Place place = store.place;
  const std::vector<ValueId> places = body_.places(store.value);
  if (places.size() != 1)
    return body_.at({Code::kind_mismatch,
                     fmt::format("output '{}' of storage q8_0 cannot hold a value with an inner axis of {}", store.name,
                                 places.size()),
                     "blocks have no inner axis: store it in another type", ""},
                    place);
  if (body_.type(places[0]).type == ElementType::boolean)
    return body_.at(
        {Code::type_mismatch, fmt::format("output '{}' of storage q8_0 cannot hold a condition", store.name),
         "conditions store as i8", ""},
        place);
  LANEFOLD_TRY(const ValueId magnitude, body_.operation(Op::abs, {store.value}, place));
  LANEFOLD_TRY(const std::vector<ValueId> largest, add_fold("max", {magnitude}, {.block = kQ8Block}, place));
  const ValueId codes = body_.number({127, 127}, place);
  LANEFOLD_TRY(const ValueId scale, body_.operation(Op::div, {largest[0], codes}, place));
  Store scales = {store.name + "_scale", ElementType::f16, {Kind::Tag::block, kQ8Block}, scale, place, {}};
  scales.part = {Part::Role::scale, store.name};
  store.part = {Part::Role::codes, store.name};
  store.name += "_codes";
  store.storage = ElementType::i8;
  LANEFOLD_TRY(store.value, body_.operation(Op::quantize, {store.value, scale}, place));
  LANEFOLD_CHECK(add_stores(std::move(store), 1));
  return add_stores(std::move(scales), 1);
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
