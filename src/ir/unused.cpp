#include "ir/unused.h"

#include <utility>

namespace lanefold::ir {
namespace {

constexpr std::uint32_t kGone = ~std::uint32_t{0};

/// The new index of each kept element; `list` is left with those alone.
template <class T>
std::vector<std::uint32_t> keep(std::vector<T>& list, const std::vector<bool>& kept) {
  std::vector<std::uint32_t> index(list.size(), kGone);
  std::vector<T> rest;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!kept[i]) continue;
    index[i] = static_cast<std::uint32_t>(rest.size());
    rest.push_back(std::move(list[i]));
  }
  list = std::move(rest);
  return index;
}

}  // namespace

void remove_unused(Program& program) {
  std::vector<bool> values(program.values.size(), false), folds(program.folds.size(), false);
  std::vector<bool> monoids(program.monoids.size(), false);
  for (const Store& store : program.stores) values[store.value] = true;
  // Operands come before what uses them, so one walk from the end finds all.
  for (std::size_t id = program.values.size(); id-- > 0;) {
    if (!values[id]) continue;
    const Value& value = program.values[id];
    for (const ValueId operand : value.operands) values[operand] = true;
    if (value.op != Op::fold_result || folds[value.index]) continue;
    folds[value.index] = true;
    monoids[program.folds[value.index].monoid] = true;
    for (const ValueId argument : program.folds[value.index].arguments) values[argument] = true;
  }
  // All results of a fold that is kept have their values, since the text names them all.
  for (std::size_t id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (value.op == Op::fold_result && folds[value.index]) values[id] = true;
  }
  const std::vector<std::uint32_t> fold_index = keep(program.folds, folds);
  const std::vector<std::uint32_t> monoid_index = keep(program.monoids, monoids);
  const std::vector<std::uint32_t> value_index = keep(program.values, values);
  for (Value& value : program.values) {
    for (ValueId& operand : value.operands) operand = value_index[operand];
    if (value.op == Op::fold_result) value.index = fold_index[value.index];
  }
  for (Fold& fold : program.folds) {
    fold.monoid = monoid_index[fold.monoid];
    for (ValueId& argument : fold.arguments) argument = value_index[argument];
  }
  for (Store& store : program.stores) store.value = value_index[store.value];
}

}  // namespace lanefold::ir
