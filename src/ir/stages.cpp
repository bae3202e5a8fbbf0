#include "ir/stages.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "ir/typing.h"
#include "ir/unused.h"

namespace lanefold::ir {
namespace {

using Tag = Kind::Tag;

const Fold& fold_of(const Program& program, const Value& value) { return program.folds[value.index]; }

bool is_row_axis(const Program& program, const Value& value) {
  return value.op == Op::fold_result && fold_of(program, value).axis == Axis::rows;
}

/// What a value is computed from.
const std::vector<ValueId>& sources(const Program& program, const Value& value) {
  return value.op == Op::fold_result ? fold_of(program, value).arguments : value.operands;
}

/// Whether each value depends on one that `is` true of, itself included.
std::vector<bool> depends(const Program& program, const std::function<bool(const Value&)>& is) {
  std::vector<bool> result(program.values.size(), false);
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    const std::vector<ValueId>& from = sources(program, value);
    result[id] = is(value) || std::any_of(from.begin(), from.end(), [&](ValueId source) { return result[source]; });
  }
  return result;
}

Kind transposed_kind(Kind kind) {
  if (kind.tag == Tag::row) return {Tag::column, 0};
  if (kind.tag == Tag::column) return {Tag::row, 0};
  return kind;
}

/// Conditions are stored as 0 and 1.
ElementType storage_between(const Value& value) {
  return value.type == ElementType::boolean ? ElementType::i8 : value.type;
}

/// Copies the values that some results need into a stage of their own.
class StageBuilder {
 public:
  /// `imported` tells the values that an earlier stage has left.
  StageBuilder(const Program& whole, std::string title, bool transposed, std::map<ValueId, std::uint32_t> imported)
      : whole_(whole), imported_(std::move(imported)) {
    stage_.program.name = whole.name;
    stage_.title = std::move(title);
    stage_.program.parameters = whole.parameters;
    stage_.program.monoids = whole.monoids;
    stage_.transposed = transposed;
  }

  void store(const Store& store, StagePort port) {
    Store copied = store;
    copied.value = copy(store.value);
    copied.kind = turned(store.kind);
    stage_.program.stores.push_back(std::move(copied));
    stage_.outputs.push_back(port);
  }

  Stage finish() {
    remove_unused(stage_.program);
    if (const std::vector<Diagnostic> faults = verify(stage_.program, stage_.program.name); !faults.empty())
      internal_error("a stage of " + whole_.name + " is faulty: " + faults.front().text());
    return std::move(stage_);
  }

 private:
  Kind turned(Kind kind) const { return stage_.transposed ? transposed_kind(kind) : kind; }

  ValueId add(Value value) {
    stage_.program.values.push_back(std::move(value));
    return static_cast<ValueId>(stage_.program.values.size() - 1);
  }

  ValueId input(Input input, StagePort port) {
    Value value;
    value.op = Op::input;
    value.type = register_type(input.storage);
    value.kind = input.kind;
    value.index = static_cast<std::uint32_t>(stage_.program.inputs.size());
    value.place = input.place;
    stage_.program.inputs.push_back(std::move(input));
    stage_.inputs.push_back(port);
    return add(std::move(value));
  }

  ValueId copy(ValueId id) {
    if (const auto known = ids_.find(id); known != ids_.end()) return known->second;
    return ids_[id] = copy_anew(id);
  }

  ValueId copy_anew(ValueId id) {
    const Value& original = whole_.values[id];
    if (const auto left = imported_.find(id); left != imported_.end()) {
      Input port;
      port.name = "between_" + std::to_string(left->second);
      port.storage = storage_between(original);
      port.kind = turned(original.kind);
      port.place = original.place;
      const ValueId read = input(std::move(port), {StagePort::Of::between, left->second});
      return original.type == ElementType::boolean ? is_not_zero(read) : read;
    }
    if (original.op == Op::input) return whole_input(original.index);
    Value value = original;
    value.kind = turned(value.kind);
    if (stage_.transposed && (value.op == Op::cols || value.op == Op::rows))
      value.op = value.op == Op::cols ? Op::rows : Op::cols;
    if (value.op == Op::gather) value.index = stage_.program.values[whole_input(original.index)].index;
    for (ValueId& operand : value.operands) operand = copy(operand);
    if (value.op == Op::fold_result) value.index = copy_fold(original.index);
    return add(std::move(value));
  }

  /// The condition that was stored as a number.
  ValueId is_not_zero(ValueId number) {
    Value zero;
    zero.type = ElementType::i32;
    Value condition;
    condition.op = Op::ne;
    condition.operands = {number, add(std::move(zero))};
    condition.type = ElementType::boolean;
    condition.kind = stage_.program.values[number].kind;
    return add(std::move(condition));
  }

  /// An input of the whole program, whether a value of it stands for the input or gathers alone read it.
  ValueId whole_input(std::uint32_t index) {
    if (const auto known = inputs_.find(index); known != inputs_.end()) return known->second;
    Input port = whole_.inputs[index];
    port.kind = turned(port.kind);
    port.absent.reset();
    return inputs_[index] = input(std::move(port), {StagePort::Of::input, index});
  }

  std::uint32_t copy_fold(std::uint32_t index) {
    if (const auto known = folds_.find(index); known != folds_.end()) return known->second;
    Fold fold = whole_.folds[index];
    if (stage_.transposed) fold.axis = Axis::cols;
    for (ValueId& argument : fold.arguments) argument = copy(argument);
    stage_.program.folds.push_back(std::move(fold));
    return folds_[index] = static_cast<std::uint32_t>(stage_.program.folds.size() - 1);
  }

  const Program& whole_;
  const std::map<ValueId, std::uint32_t> imported_;
  Stage stage_;
  std::map<ValueId, ValueId> ids_;
  std::map<std::uint32_t, ValueId> inputs_;
  std::map<std::uint32_t, std::uint32_t> folds_;
};

/// The values nearest to the roots of which `is_border` is true, in ascending order.
std::vector<ValueId> border(const Program& program, std::vector<ValueId> roots,
                            const std::function<bool(ValueId)>& is_border) {
  std::vector<bool> seen(program.values.size(), false);
  std::vector<ValueId> found;
  while (!roots.empty()) {
    const ValueId id = roots.back();
    roots.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    if (is_border(id)) {
      found.push_back(id);
      continue;
    }
    const std::vector<ValueId>& from = sources(program, program.values[id]);
    roots.insert(roots.end(), from.begin(), from.end());
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Splitter {
 public:
  explicit Splitter(const Program& program)
      : program_(program), after_(after_row_axis(program)), folded_(depends(program, [&](const Value& v) {
          return v.op == Op::fold_result && fold_of(program, v).axis == Axis::cols;
        })) {}

  Stages run() {
    std::vector<ValueId> late;  // what the last stage stores
    for (const Store& store : program_.stores)
      if (after_[store.value] && store.kind.tag != Tag::column) late.push_back(store.value);
    // Whole values of columns are handed on, not the folds inside them, so that no element computes them again.
    const std::vector<ValueId> column_values = border(program_, late, [&](ValueId id) {
      const Value& value = program_.values[id];
      return after_[id] && value.kind.tag == Tag::column;
    });
    std::vector<ValueId> middle = column_values;
    for (const Store& store : program_.stores)
      if (store.kind.tag == Tag::column) middle.push_back(store.value);
    const std::vector<ValueId> row_values = border(program_, middle, [&](ValueId id) {
      const Value& value = program_.values[id];
      return folded_[id] && !after_[id] && value.kind.tag == Tag::row;
    });

    first_stage(row_values);
    middle_stage(column_values);
    last_stage();
    return std::move(result_);
  }

 private:
  std::uint32_t leave(ValueId id) {
    const Value& value = program_.values[id];
    result_.between.push_back({storage_between(value), value.kind});
    return static_cast<std::uint32_t>(result_.between.size() - 1);
  }

  void store_between(StageBuilder& stage, ValueId id, std::uint32_t number) {
    const Value& value = program_.values[id];
    Store store{.name = "between_" + std::to_string(number),
                .storage = storage_between(value),
                .kind = value.kind,
                .value = id,
                .place = value.place};
    stage.store(store, {StagePort::Of::between, number});
  }

  void first_stage(const std::vector<ValueId>& row_values) {
    StageBuilder stage(program_, "of rows", false, {});
    bool any = false;
    for (std::uint32_t s = 0; s < program_.stores.size(); ++s) {
      if (after_[program_.stores[s].value] || program_.stores[s].kind.tag == Tag::column) continue;
      stage.store(program_.stores[s], {StagePort::Of::output, s});
      any = true;
    }
    for (const ValueId id : row_values) {
      rows_[id] = leave(id);
      store_between(stage, id, rows_[id]);
      any = true;
    }
    if (any) result_.stages.push_back(stage.finish());
  }

  void middle_stage(const std::vector<ValueId>& column_values) {
    StageBuilder stage(program_, "along rows", true, rows_);
    for (std::uint32_t s = 0; s < program_.stores.size(); ++s)
      if (program_.stores[s].kind.tag == Tag::column) stage.store(program_.stores[s], {StagePort::Of::output, s});
    for (const ValueId id : column_values) {
      columns_[id] = leave(id);
      store_between(stage, id, columns_[id]);
    }
    result_.stages.push_back(stage.finish());
  }

  void last_stage() {
    StageBuilder stage(program_, "with columns", false, columns_);
    bool any = false;
    for (std::uint32_t s = 0; s < program_.stores.size(); ++s) {
      const Store& store = program_.stores[s];
      if (!after_[store.value] || store.kind.tag == Tag::column) continue;
      stage.store(store, {StagePort::Of::output, s});
      any = true;
    }
    if (any) result_.stages.push_back(stage.finish());
  }

  const Program& program_;
  std::vector<bool> after_;   ///< by value: depends on a fold along rows
  std::vector<bool> folded_;  ///< by value: depends on a fold along columns
  std::map<ValueId, std::uint32_t> rows_, columns_;
  Stages result_;
};

}  // namespace

bool folds_rows(const Program& program) {
  return std::any_of(program.folds.begin(), program.folds.end(),
                     [](const Fold& fold) { return fold.axis == Axis::rows; });
}

bool needs_stages(const Program& program) {
  return folds_rows(program) || std::any_of(program.stores.begin(), program.stores.end(),
                                            [](const Store& store) { return store.kind.tag == Tag::column; });
}

std::vector<bool> after_row_axis(const Program& program) {
  return depends(program, [&](const Value& value) { return is_row_axis(program, value); });
}

Stages split_stages(const Program& program) { return Splitter(program).run(); }

std::optional<StageFault> stage_fault(const Program& program) {
  const std::vector<bool> after = after_row_axis(program);
  std::vector<ValueId> roots;
  for (const Fold& fold : program.folds)
    if (fold.axis == Axis::rows) roots.insert(roots.end(), fold.arguments.begin(), fold.arguments.end());
  for (const Store& store : program.stores)
    if (store.kind.tag == Tag::column) roots.push_back(store.value);
  std::vector<bool> seen(program.values.size(), false);
  while (!roots.empty()) {
    const ValueId id = roots.back();
    roots.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Value& value = program.values[id];
    if (value.op == Op::fold_result && fold_of(program, value).axis == Axis::cols) {
      if (fold_of(program, value).block != 0) return StageFault{value.place, "a fold of blocks"};
      if (after[id]) return StageFault{value.place, "a fold along columns of what a fold along rows gave"};
      // The row's result is handed over, so what it is computed from does not matter here.
      continue;
    }
    if (value.op == Op::gather) return StageFault{value.place, "gather"};
    if (value.op == Op::col) return StageFault{value.place, "the column index"};
    if (value.kind.tag == Tag::block) return StageFault{value.place, "a value of blocks"};
    const std::vector<ValueId>& from = sources(program, value);
    roots.insert(roots.end(), from.begin(), from.end());
  }
  return std::nullopt;
}

}  // namespace lanefold::ir
