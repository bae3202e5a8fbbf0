// The one evaluator of row programs, over any domain: row by row, each value for the whole row at once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/view.h"
#include "ir/order.h"
#include "ir/program.h"
#include "oracle/body.h"
#include "oracle/domain.h"
#include "oracle/fold.h"
#include "oracle/oracle.h"

namespace lanefold::oracle {

/// Evaluates a verified program whose bindings fit it (the caller has told a user about any that do not; here a misfit is
/// an internal error). Values of kind uniform and column are computed once, for the first row.
template <Domain D>
class Evaluator {
 public:
  using Value = typename D::Value;

  Evaluator(const ir::Program& program, const Bindings& bindings, ir::Order order, D& domain)
      : program_(program), bindings_(bindings), order_(order), domain_(domain) {
    check_bindings();
    inputs_.resize(program.inputs.size());
    loaded_row_.assign(program.inputs.size(), kNotLoaded);
    values_.resize(program.values.size());
    storage_.resize(program.values.size());
    fold_row_.assign(program.folds.size(), kNotLoaded);
    folds_.reserve(program.folds.size());
    for (const ir::Fold& fold : program.folds) folds_.emplace_back(program.monoids.at(fold.monoid), domain);
  }

  /// Computes every value of the row, after what folds all rows.
  void evaluate_row(std::int64_t row) {
    if (!rows_folded_) fold_rows();
    evaluate_values(program_.values.size(), row);
  }

  /// The values of a store in the row evaluated last, store_cols of them.
  Lanes<Value> stored(std::size_t store) {
    const ir::Store& target = program_.stores.at(store);
    return broadcast(target.value, target.kind, stored_);
  }

 private:
  static constexpr std::int64_t kNotLoaded = -1;

  void evaluate_values(std::size_t end, std::int64_t row) {
    for (std::size_t id = 0; id < end; ++id) {
      const ir::Kind::Tag tag = program_.values[id].kind.tag;
      const bool same_in_every_row = tag == ir::Kind::Tag::uniform || tag == ir::Kind::Tag::column;
      if (!same_in_every_row || values_[id].data == nullptr) evaluate_value(id, row);
    }
  }

  /// The folds along rows, in the order of their results: each sees those before it.
  void fold_rows() {
    rows_folded_ = true;
    std::vector<bool> done(program_.folds.size(), false);
    for (std::size_t id = 0; id < program_.values.size(); ++id) {
      const ir::Value& value = program_.values[id];
      if (value.op != ir::Op::fold_result || done[value.index]) continue;
      if (program_.folds[value.index].axis != ir::Axis::rows) continue;
      done[value.index] = true;
      fold_along_rows(value.index, id);
    }
  }

  void fold_along_rows(std::uint32_t index, std::size_t first_result) {
    const ir::Fold& fold = program_.folds.at(index);
    const auto rows = static_cast<std::size_t>(bindings_.rows), cols = static_cast<std::size_t>(bindings_.cols);
    std::vector<std::vector<Value>> arguments(fold.arguments.size(), std::vector<Value>(rows * cols));
    for (std::size_t r = 0; r < rows; ++r) {
      evaluate_values(first_result, static_cast<std::int64_t>(r));
      for (std::size_t k = 0; k < arguments.size(); ++k) {
        const Lanes<Value> lanes = broadcast(fold.arguments[k], {ir::Kind::Tag::element, 0}, spread_[k]);
        for (std::size_t c = 0; c < cols; ++c) arguments[k][c * rows + r] = lanes[static_cast<std::int64_t>(c)];
      }
    }
    FoldRunner<D>& runner = folds_.at(index);
    for (std::size_t c = 0; c < cols; ++c) {
      typename FoldRunner<D>::Elements column;
      for (const std::vector<Value>& argument : arguments) column.push_back({argument.data() + c * rows, 1});
      runner.fold_row(column, bindings_.rows, order_);
      for (std::size_t id = 0; id < program_.values.size(); ++id) {
        const ir::Value& value = program_.values[id];
        if (value.op != ir::Op::fold_result || value.index != index) continue;
        storage_[id].resize(cols);
        storage_[id][c] = runner.results().at(value.component)[0];
        values_[id] = {storage_[id].data(), cols == 1 ? 0 : 1};
      }
    }
  }

  std::int64_t extent(const ir::Kind& kind) const {
    switch (kind.tag) {
      case ir::Kind::Tag::uniform:
      case ir::Kind::Tag::row: return 1;
      case ir::Kind::Tag::column:
      case ir::Kind::Tag::element: return bindings_.cols;
      case ir::Kind::Tag::block: return bindings_.cols / kind.block;
    }
    internal_error("unknown kind");
  }

  void check_block(const ir::Kind& kind) const {
    if (kind.tag == ir::Kind::Tag::block && (kind.block == 0 || bindings_.cols % kind.block != 0))
      internal_error("oracle: " + std::to_string(bindings_.cols) + " columns are no multiple of a block of " +
                     std::to_string(kind.block));
  }

  void check_bindings() const {
    if (bindings_.rows < 0 || bindings_.cols < 1) internal_error("oracle: a program needs at least one column");
    if (bindings_.inputs.size() != program_.inputs.size() || bindings_.parameters.size() != program_.parameters.size())
      internal_error("oracle: the bindings do not list the inputs and parameters of " + program_.name);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const ir::Input& input = program_.inputs[i];
      check_block(input.kind);
      if (bindings_.inputs[i].type != input.storage)
        internal_error("oracle: input " + input.name + " is bound with another storage type");
    }
    for (const ir::Value& value : program_.values) {
      check_block(value.kind);
    }
    for (const ir::Fold& fold : program_.folds) check_block({ir::Kind::Tag::block, fold.block == 0 ? 1 : fold.block});
  }

  /// The input's elements for the row, read once.
  Lanes<Value> load(std::uint32_t index, std::int64_t row) {
    const ir::Input& input = program_.inputs.at(index);
    const bool per_row = input.kind.tag != ir::Kind::Tag::uniform && input.kind.tag != ir::Kind::Tag::column;
    const std::int64_t wanted = per_row ? row : 0;
    std::vector<Value>& elements = inputs_[index];
    if (loaded_row_[index] != wanted) {
      const View& view = bindings_.inputs[index];
      elements.resize(static_cast<std::size_t>(extent(input.kind)));
      for (std::int64_t c = 0; c < std::ssize(elements); ++c)
        elements[static_cast<std::size_t>(c)] = domain_.load({index, wanted, c, input.storage, view.at(wanted, c)});
      loaded_row_[index] = wanted;
    }
    return {elements.data(), extent(input.kind) == 1 ? 0 : 1};
  }

  /// The value as lanes of a kind that it broadcasts to. Blocks under elements are spread out into `room`.
  Lanes<Value> broadcast(ir::ValueId id, const ir::Kind& kind, std::vector<Value>& room) {
    const ir::Value& value = program_.values.at(id);
    const Lanes<Value> lanes = values_[id];
    if (value.kind.tag != ir::Kind::Tag::block || value.kind == kind) return lanes;
    room.resize(static_cast<std::size_t>(bindings_.cols));
    for (std::int64_t c = 0; c < bindings_.cols; ++c) room[static_cast<std::size_t>(c)] = lanes[c / value.kind.block];
    return {room.data(), 1};
  }

  void evaluate_value(std::size_t id, std::int64_t row) {
    const ir::Value& value = program_.values[id];
    switch (value.op) {
      case ir::Op::constant: return set_one(id, domain_.constant(value.literal, value.type));
      case ir::Op::parameter: return set_one(id, domain_.parameter(value.index, bindings_.parameters.at(value.index)));
      case ir::Op::cols: return set_one(id, domain_.constant(static_cast<double>(bindings_.cols), value.type));
      case ir::Op::rows: return set_one(id, domain_.constant(static_cast<double>(bindings_.rows), value.type));
      case ir::Op::input: values_[id] = load(value.index, row); return;
      case ir::Op::col:
        if (values_[id].data == nullptr)
          for (std::int64_t c = 0; c < bindings_.cols; ++c)
            storage_[id].push_back(domain_.constant(static_cast<double>(c), value.type));
        values_[id] = {storage_[id].data(), 1};
        return;
      case ir::Op::gather: return gather(id, row);
      case ir::Op::fold_result: return take_fold_result(id, row);
      default: break;
    }
    std::array<Lanes<Value>, kMaxOperands> operands;
    const Operation operation = operation_of(value, program_.values);
    for (std::size_t k = 0; k < value.operands.size(); ++k)
      operands[k] = broadcast(value.operands[k], value.kind, spread_[k]);
    const std::int64_t count = extent(value.kind);
    domain_.apply(operation, operands.data(), count, room_for(id, count));
    values_[id].stride = count == 1 ? 0 : 1;
  }

  void gather(std::size_t id, std::int64_t row) {
    const ir::Value& value = program_.values[id];
    const Lanes<Value> run = load(value.index, row);
    const std::int64_t reach = extent(program_.inputs[value.index].kind);
    const Lanes<Value> indices = broadcast(value.operands.at(0), value.kind, spread_[0]);
    const std::int64_t count = extent(value.kind);
    Value* out = room_for(id, count);
    for (std::int64_t i = 0; i < count; ++i) out[i] = domain_.pick(run, reach, indices[i], value.type);
    values_[id].stride = count == 1 ? 0 : 1;
  }

  void take_fold_result(std::size_t id, std::int64_t row) {
    const ir::Value& value = program_.values[id];
    const ir::Fold& fold = program_.folds.at(value.index);
    FoldRunner<D>& runner = folds_.at(value.index);
    if (fold_row_[value.index] != row) {
      if (fold.arguments.size() > kMaxArguments) internal_error("oracle: a fold has too many arguments");
      typename FoldRunner<D>::Elements elements;
      for (std::size_t k = 0; k < fold.arguments.size(); ++k)
        elements.push_back(broadcast(fold.arguments[k], {ir::Kind::Tag::element, 0}, spread_[k]));
      if (fold.block == 0) {
        runner.fold_row(elements, bindings_.cols, order_);
      } else {
        runner.fold_blocks(elements, bindings_.cols, fold.block, order_);
      }
      fold_row_[value.index] = row;
    }
    const std::vector<Value>& result = runner.results().at(value.component);
    const bool one = fold.block == 0 || bindings_.cols == fold.block;
    values_[id] = {result.data(), one ? 0 : 1};
  }

  void set_one(std::size_t id, Value value) {
    *room_for(id, 1) = std::move(value);
    values_[id].stride = 0;
  }

  Value* room_for(std::size_t id, std::int64_t count) {
    storage_[id].resize(static_cast<std::size_t>(count));
    values_[id].data = storage_[id].data();
    return storage_[id].data();
  }

  static constexpr std::size_t kMaxArguments = 8;

  const ir::Program& program_;
  const Bindings& bindings_;
  ir::Order order_;
  D& domain_;
  std::vector<std::vector<Value>> inputs_;   // the elements of each input
  std::vector<std::int64_t> loaded_row_;     // the row that inputs_ holds
  std::vector<Lanes<Value>> values_;         // each value of the current row
  std::vector<std::vector<Value>> storage_;  // what values_ point to
  std::vector<FoldRunner<D>> folds_;
  std::vector<std::int64_t> fold_row_;                    // the row that each fold's results are of
  std::array<std::vector<Value>, kMaxArguments> spread_;  // operands spread from blocks to elements
  std::vector<Value> stored_;
  bool rows_folded_ = false;
};

}  // namespace lanefold::oracle
