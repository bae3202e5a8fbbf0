#include "lower/serial.h"

#include <algorithm>

#include "lower/expression.h"
#include "lower/points.h"
#include "lower/reach.h"

namespace lanefold::lower {

using ir::Kind;

void SerialRow::emit() {
  const ValueId row = b_.add(b_.mul(b_.threadgroup(), b_.i64(c_.kernel.rows_per_threadgroup)), thread());
  c_.begin_row(row, true);
  fold_sweeps();
  store_sweep(c_.cols, [](const std::function<void()>& store) { store(); });
}

void SerialRow::emit_per_lane(std::uint32_t chunk) {
  const std::int64_t width = c_.kernel.cols_per_threadgroup;
  const ValueId per_row = b_.binary(lane::Op::div, b_.add(c_.cols, b_.i64(width - 1)), b_.i64(width));
  const ValueId row = b_.binary(lane::Op::div, b_.threadgroup(), per_row);
  c_.begin_row(row, false);
  const ValueId tile = b_.binary(lane::Op::rem, b_.threadgroup(), per_row);
  const ValueId first = b_.add(b_.mul(tile, b_.i64(width)), b_.mul(thread(), b_.i64(chunk)));
  fold_sweeps();
  base_ = first;
  std::vector<ir::ValueId> stored;
  for (const ir::Store& store : c_.program.stores) stored.push_back(store.value);
  c_.prepare(stored, {});
  b_.branch(b_.binary(lane::Op::lt, first, c_.cols), [&] {
    store_sweep(b_.i64(chunk), [&](const std::function<void()>& store) {
      b_.branch(b_.binary(lane::Op::eq, first, b_.i64(0)), store);
    });
  });
}

ValueId SerialRow::thread() {
  ValueId lane = b_.lane();
  if (c_.kernel.simd_groups > 1)
    lane = b_.add(lane, b_.mul(b_.simd_group(), b_.i32(static_cast<std::int32_t>(c_.kernel.simd_width))));
  return b_.convert(lane, ElementType::i64);
}

void SerialRow::fold_sweeps() {
  for (std::uint32_t depth = 0; depth < analysis_.depth; ++depth) {
    const std::vector<std::uint32_t>& folds = analysis_.sweeps[depth].folds;
    std::vector<ir::ValueId> roots;
    for (std::uint32_t f : folds)
      roots.insert(roots.end(), c_.program.folds[f].arguments.begin(), c_.program.folds[f].arguments.end());
    c_.prepare(roots, {});
    b_.comment("fold");
    const std::vector<std::vector<ValueId>> results = left_folds(folds, b_.i64(0), c_.cols);
    for (std::size_t i = 0; i < folds.size(); ++i) c_.set_fold(folds[i], results[i]);
  }
}

void SerialRow::for_columns(ValueId begin, ValueId end, const std::vector<ir::ValueId>& roots, const Body& body) {
  const std::vector<std::uint32_t> folds = block_folds(c_.program, roots, false);
  std::vector<std::vector<std::uint32_t>> arrays;
  for (std::uint32_t f : folds) {
    const ir::Monoid& monoid = c_.program.monoids[c_.program.folds[f].monoid];
    arrays.emplace_back();
    for (ir::ValueId result : monoid.finish.results) {
      const ElementType type = monoid.finish.values[result].type;
      arrays.back().push_back(c_.registers("block", type, 1));
      b_.set(arrays.back().back(), 0, emit_literal(b_, type, 0));
    }
  }
  b_.loop(begin, end, b_.i64(1), [&](ValueId counter) {
    Values known;
    for (std::size_t i = 0; i < folds.size(); ++i) {
      const std::uint32_t block = c_.program.folds[folds[i]].block;
      // A lane's first column is a multiple of the block, so the counter tells where blocks begin.
      const ValueId within = b_.binary(lane::Op::bit_and, counter, b_.i64(block - 1));
      b_.branch(b_.binary(lane::Op::eq, within, b_.i64(0)), [&] {
        const auto results = left_folds({folds[i]}, counter, b_.add(counter, b_.i64(block)));
        for (std::size_t k = 0; k < arrays[i].size(); ++k) b_.set(arrays[i][k], 0, results[0][k]);
      });
    }
    for (ir::ValueId id = 0; id < c_.program.values.size(); ++id) {
      const ir::Value& v = c_.program.values[id];
      if (v.op != ir::Op::fold_result) continue;
      const auto at = std::find(folds.begin(), folds.end(), v.index);
      if (at == folds.end()) continue;
      const auto i = static_cast<std::size_t>(at - folds.begin());
      known[id] = b_.get(arrays[i][v.component], 0, v.type);
    }
    body(column_at(counter), known);
  });
}

std::vector<std::vector<ValueId>> SerialRow::left_folds(const std::vector<std::uint32_t>& folds, ValueId begin,
                                                        ValueId end) {
  struct State {
    const ir::Fold* fold;
    const ir::Monoid* monoid;
    std::vector<std::uint32_t> arrays;
    std::uint32_t first = 0;
  };
  std::vector<State> states;
  std::vector<ir::ValueId> roots;
  for (std::uint32_t f : folds) {
    State state{&c_.program.folds[f], &c_.program.monoids[c_.program.folds[f].monoid], {}};
    for (std::size_t i = 0; i < state.monoid->state.size(); ++i) {
      const ElementType type = state.monoid->state[i].type;
      state.arrays.push_back(c_.registers(state.monoid->name, type, 1));
      b_.set(state.arrays.back(), 0, emit_literal(b_, type, state.monoid->identity ? (*state.monoid->identity)[i] : 0));
    }
    roots.insert(roots.end(), state.fold->arguments.begin(), state.fold->arguments.end());
    states.push_back(std::move(state));
  }
  for_columns(begin, end, roots, [&](ValueId column, Values& known) {
    for (const State& state : states) {
      std::vector<ValueId> before, arguments;
      for (std::size_t i = 0; i < state.arrays.size(); ++i)
        before.push_back(b_.get(state.arrays[i], 0, state.monoid->state[i].type));
      for (ir::ValueId argument : state.fold->arguments) arguments.push_back(value(argument, column, known));
      std::vector<ValueId> after = c_.functions.step(b_, *state.monoid, before, arguments);
      if (!state.monoid->identity) {
        const ValueId first = b_.binary(lane::Op::eq, column, column_at(begin));
        const std::vector<ValueId> lifted = emit_body(state.monoid->lift, arguments, b_, c_.functions);
        for (std::size_t i = 0; i < after.size(); ++i)
          after[i] = b_.ternary(lane::Op::select, first, lifted[i], after[i]);
      }
      for (std::size_t i = 0; i < after.size(); ++i) b_.set(state.arrays[i], 0, after[i]);
    }
  });
  std::vector<std::vector<ValueId>> results;
  for (const State& state : states) {
    std::vector<ValueId> totals;
    for (std::size_t i = 0; i < state.arrays.size(); ++i)
      totals.push_back(b_.get(state.arrays[i], 0, state.monoid->state[i].type));
    results.push_back(emit_body(state.monoid->finish, totals, b_, c_.functions));
  }
  return results;
}

ValueId SerialRow::value(ir::ValueId id, ValueId column, Values& known) {
  const ir::Value& v = c_.program.values[id];
  if (v.kind.tag == Kind::Tag::uniform || v.kind.tag == Kind::Tag::row) return c_.row_value(id);
  if (auto found = known.find(id); found != known.end()) return found->second;
  ValueId result = 0;
  switch (v.op) {
    case ir::Op::input: {
      const Kind kind = c_.program.inputs[v.index].kind;
      const ValueId at =
          kind.tag == Kind::Tag::block ? b_.binary(lane::Op::shift_right, column, b_.i64(log2_of(kind.block))) : column;
      result = c_.load_input(v.index, at, std::nullopt);
      break;
    }
    case ir::Op::col: result = b_.convert(column, ElementType::i32); break;
    case ir::Op::gather: result = c_.gather(v, value(v.operands[0], column, known)); break;
    default: {
      std::vector<ValueId> operands;
      for (ir::ValueId operand : v.operands) operands.push_back(value(operand, column, known));
      result = c_.operation(v, operands);
    }
  }
  known[id] = result;
  return result;
}

void SerialRow::store_sweep(ValueId columns, const std::function<void(const std::function<void()>&)>& row_stores) {
  std::vector<ir::ValueId> all, along;
  std::vector<std::uint32_t> along_stores;
  for (std::uint32_t i = 0; i < c_.program.stores.size(); ++i) {
    const ir::Store& store = c_.program.stores[i];
    all.push_back(store.value);
    if (store.kind.tag == Kind::Tag::row) continue;
    along.push_back(store.value);
    along_stores.push_back(i);
  }
  c_.prepare(all, {});
  if (!along.empty()) {
    b_.comment("store");
    for_columns(b_.i64(0), columns, along, [&](ValueId column, Values& known) {
      std::vector<ValueId> values;
      for (ir::ValueId root : along) values.push_back(value(root, column, known));
      for (std::size_t i = 0; i < along_stores.size(); ++i) {
        const Kind kind = c_.program.stores[along_stores[i]].kind;
        if (kind.tag != Kind::Tag::block) {
          c_.store_output(along_stores[i], column, values[i], std::nullopt);
          continue;
        }
        const ValueId within = b_.binary(lane::Op::bit_and, column, b_.i64(kind.block - 1));
        b_.branch(b_.binary(lane::Op::eq, within, b_.i64(0)), [&] {
          const ValueId at = b_.binary(lane::Op::shift_right, column, b_.i64(log2_of(kind.block)));
          c_.store_output(along_stores[i], at, values[i], std::nullopt);
        });
      }
    });
  }
  row_stores([&] {
    for (std::uint32_t i = 0; i < c_.program.stores.size(); ++i)
      if (c_.program.stores[i].kind.tag == Kind::Tag::row)
        c_.store_output(i, b_.i64(0), c_.row_value(c_.program.stores[i].value), std::nullopt);
  });
}

}  // namespace lanefold::lower
