#include <algorithm>

#include "lower/cooperative.h"
#include "lower/expression.h"
#include "lower/reach.h"

namespace lanefold::lower {
namespace {

constexpr std::uint32_t kSegmentLevels = 17;  // 2^16 segments of 32768 columns reach past 2^31 − 1

}  // namespace

CooperativeRow::FoldState CooperativeRow::make_state(std::uint32_t fold, std::uint32_t registers) {
  FoldState state;
  state.fold = fold;
  state.monoid = &c_.program.monoids[c_.program.folds[fold].monoid];
  state.flagged = !state.monoid->identity;
  if (state.flagged) state.types.push_back(ElementType::boolean);
  for (const ir::Field& field : state.monoid->state) state.types.push_back(field.type);
  for (ElementType type : state.types) state.arrays.push_back(c_.registers(state.monoid->name, type, registers));
  state.merge = c_.functions.merge(*state.monoid, state.flagged);
  return state;
}

std::vector<ValueId> CooperativeRow::identity(const FoldState& state) {
  std::vector<ValueId> values;
  if (state.flagged) values.push_back(b_.boolean(false));
  for (std::size_t i = 0; i < state.monoid->state.size(); ++i)
    values.push_back(emit_literal(b_, state.monoid->state[i].type, state.flagged ? 0 : (*state.monoid->identity)[i]));
  return values;
}

void CooperativeRow::reset(const States& states, std::uint32_t registers) {
  for (const FoldState& state : states) {
    const std::vector<ValueId> values = identity(state);
    for (std::uint32_t r = 0; r < registers; ++r)
      for (std::size_t i = 0; i < values.size(); ++i) b_.set(state.arrays[i], r, values[i]);
  }
}

void CooperativeRow::step(const States& states, BankEvaluator& bank, std::size_t point, std::uint32_t element) {
  for (const FoldState& state : states) {
    std::vector<ValueId> arguments;
    for (ir::ValueId argument : c_.program.folds[state.fold].arguments)
      arguments.push_back(bank.value(argument, point));
    std::vector<ValueId> before;
    for (std::size_t i = 0; i < state.arrays.size(); ++i)
      before.push_back(b_.get(state.arrays[i], element, state.types[i]));
    std::vector<ValueId> after =
        c_.functions.step(b_, *state.monoid, std::span(before).subspan(state.flagged ? 1 : 0), arguments);
    if (state.flagged) {
      const std::vector<ValueId> lifted = emit_body(state.monoid->lift, arguments, b_, c_.functions);
      for (std::size_t i = 0; i < after.size(); ++i)
        after[i] = b_.ternary(lane::Op::select, before[0], after[i], lifted[i]);
      after.insert(after.begin(), b_.boolean(true));
    }
    const auto keep = [&] {
      for (std::size_t i = 0; i < after.size(); ++i) b_.set(state.arrays[i], element, after[i]);
    };
    const std::optional<ValueId> inside = bank.points()[point].inside;
    if (inside)
      b_.branch(*inside, keep);
    else
      keep();
  }
}

Bank CooperativeRow::gather_bank(const FoldState& state, const BankShape& shape) {
  std::vector<std::vector<ValueId>> registers;
  for (std::uint32_t r = 0; r < shape.registers(); ++r) {
    registers.emplace_back();
    for (std::size_t i = 0; i < state.arrays.size(); ++i)
      registers.back().push_back(b_.get(state.arrays[i], r, state.types[i]));
  }
  return make_bank(shape, std::move(registers));
}

std::vector<ir::ValueId> CooperativeRow::fold_roots(const States& states) const {
  std::vector<ir::ValueId> roots;
  for (const FoldState& state : states) {
    const auto& arguments = c_.program.folds[state.fold].arguments;
    roots.insert(roots.end(), arguments.begin(), arguments.end());
  }
  return roots;
}

void CooperativeRow::fold_sweep(const std::vector<std::uint32_t>& folds) {
  if (folds.empty()) return;
  bool any_order = linear_;
  for (std::uint32_t fold : folds)
    any_order = any_order && c_.program.monoids[c_.program.folds[fold].monoid].reorderable;
  const std::uint32_t registers = any_order ? along_registers_ : shape_.registers();
  States states;
  for (std::uint32_t fold : folds) states.push_back(make_state(fold, registers));
  const std::vector<ir::ValueId> roots = fold_roots(states);
  std::map<ir::ValueId, ValueId> stop;
  for (ir::ValueId tile : tiles_->written()) stop[tile] = 0;
  c_.prepare(roots, stop);
  if (!any_order && linear_ && plan_.stripe == plan::Stripe::threadgroup_memory) fill_tiles(roots);
  std::string names;
  for (const FoldState& state : states) names += (names.empty() ? "" : ", ") + state.monoid->name;
  b_.comment("fold " + names);
  const Totals totals = any_order ? linear_folds(states)
                        : plan_.width.segmented && plan_.order == ir::Order::canonical
                            ? segmented_folds(states)
                            : segment_folds(states, b_.i64(0), c_.cols);
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::vector<ValueId> state(totals[i].begin() + states[i].flagged, totals[i].end());
    c_.set_fold(states[i].fold, emit_body(states[i].monoid->finish, state, b_, c_.functions));
  }
  tiles_->finish(tiles_in_sweep_);
  tiles_in_sweep_.clear();
}

void CooperativeRow::fill_tiles(const std::vector<ir::ValueId>& roots) {
  // Dear values in one plain sweep along the row: the fold's own steps then only load, and no element is computed under two guards.
  std::vector<ir::ValueId> wanted;
  const std::vector<ir::ValueId> needed = along_row_values(c_.program, roots, true);
  for (ir::ValueId id : analysis_.tiles)
    if (!tiles_->holds(id) && std::binary_search(needed.begin(), needed.end(), id)) wanted.push_back(id);
  if (wanted.empty()) return;
  b_.comment("keep row-wide temporaries");
  along_row(linear_shape(shape_.lane_bits, log2_of(along_registers_)), needs_blocks(wanted),
            [&](const BankShape& shape, std::vector<Point> at) {
              BankEvaluator bank(c_, *tiles_, shape, std::move(at));
              for (ir::ValueId id : wanted)
                for (std::size_t p = 0; p < bank.points().size(); ++p) bank.value(id, p);
            });
  tiles_->finish({wanted.begin(), wanted.end()});
}

CooperativeRow::Totals CooperativeRow::linear_folds(const States& states) {
  const std::uint32_t lane_bits = shape_.lane_bits;
  const BankShape wide = linear_shape(lane_bits, log2_of(along_registers_));
  reset(states, wide.registers());
  const auto bank_step = [&](const BankShape& shape, std::vector<Point> at) {
    BankEvaluator bank(c_, *tiles_, shape, std::move(at));
    for (std::uint32_t r = 0; r < bank.points().size(); ++r) step(states, bank, r, r);
    tiles_in_sweep_.insert(bank.computed_tiles().begin(), bank.computed_tiles().end());
  };
  along_row(wide, needs_blocks(fold_roots(states)), bank_step);
  Totals totals;
  for (const FoldState& state : states) {
    // The order is free here: registers first, since they need no shuffle.
    Bank bank = gather_bank(state, wide);
    while (!bank.register_bits.empty()) merge_lowest_register_bit(bank, state.merge, b_, c_.functions);
    merge_below(bank, lane_bits, state.merge, b_, c_.functions);
    totals.push_back(broadcast(bank.registers[0]));
  }
  return totals;
}

CooperativeRow::Totals CooperativeRow::segmented_folds(const States& states) {
  constexpr std::int64_t length = ir::CanonicalOrder::segment;
  // Results of complete subtrees wait in `stack`, one per level of the tree over segments.
  std::vector<std::vector<std::uint32_t>> stack, carry;
  for (const FoldState& state : states) {
    stack.emplace_back();
    carry.emplace_back();
    for (ElementType type : state.types) {
      stack.back().push_back(c_.registers("subtree", type, kSegmentLevels));
      carry.back().push_back(c_.registers("carry", type, 1));
    }
  }
  const auto read = [&](const std::vector<std::uint32_t>& arrays, const FoldState& state, std::uint32_t element) {
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < arrays.size(); ++i) values.push_back(b_.get(arrays[i], element, state.types[i]));
    return values;
  };
  const auto write = [&](const std::vector<std::uint32_t>& arrays, std::uint32_t element,
                         const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < arrays.size(); ++i) b_.set(arrays[i], element, values[i]);
  };
  const auto merge = [&](const FoldState& state, std::vector<ValueId> left, const std::vector<ValueId>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return b_.call(state.merge, left, state.types);
  };
  // The stack and the carry are never read before they are written, but a register must hold something.
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (std::uint32_t level = 0; level < kSegmentLevels; ++level) write(stack[i], level, identity(states[i]));
    write(carry[i], 0, identity(states[i]));
  }
  const ValueId count = b_.binary(lane::Op::shift_right, b_.add(c_.cols, b_.i64(length - 1)), b_.i64(log2_of(length)));
  b_.loop(b_.i64(0), count, b_.i64(1), [&](ValueId segment) {
    const ValueId begin = b_.mul(segment, b_.i64(length));
    const ValueId columns = b_.binary(lane::Op::min, b_.sub(c_.cols, begin), b_.i64(length));
    const Totals totals = segment_folds(states, begin, columns);
    for (std::size_t i = 0; i < states.size(); ++i) write(carry[i], 0, totals[i]);
    for (std::uint32_t level = 0; level < kSegmentLevels; ++level) {
      // The low bits of the segment number say whether a left neighbour of this size is complete.
      const ValueId low = b_.binary(lane::Op::bit_and, segment, b_.i64((std::int64_t{2} << level) - 1));
      b_.branch(b_.binary(lane::Op::eq, low, b_.i64((std::int64_t{2} << level) - 1)), [&] {
        for (std::size_t i = 0; i < states.size(); ++i)
          write(carry[i], 0, merge(states[i], read(stack[i], states[i], level), read(carry[i], states[i], 0)));
      });
      b_.branch(b_.binary(lane::Op::eq, low, b_.i64((std::int64_t{1} << level) - 1)), [&] {
        for (std::size_t i = 0; i < states.size(); ++i) write(stack[i], level, read(carry[i], states[i], 0));
      });
    }
  });
  // What is left are the set bits of the count, the lowest one the rightmost subtree.
  for (std::uint32_t level = 0; level < kSegmentLevels; ++level) {
    const ValueId low = b_.binary(lane::Op::bit_and, count, b_.i64((std::int64_t{2} << level) - 1));
    const ValueId bit = b_.i64(std::int64_t{1} << level);
    b_.branch(b_.binary(lane::Op::eq, low, bit), [&] {
      for (std::size_t i = 0; i < states.size(); ++i) write(carry[i], 0, read(stack[i], states[i], level));
    });
    b_.branch(b_.binary(lane::Op::gt, low, bit), [&] {
      for (std::size_t i = 0; i < states.size(); ++i)
        write(carry[i], 0, merge(states[i], read(stack[i], states[i], level), read(carry[i], states[i], 0)));
    });
  }
  Totals totals;
  for (std::size_t i = 0; i < states.size(); ++i) totals.push_back(read(carry[i], states[i], 0));
  return totals;
}

CooperativeRow::Totals CooperativeRow::segment_folds(const States& states, ValueId begin, ValueId columns) {
  Totals totals;
  if (pass_bits_ == 0) {
    accumulate(states, begin, columns, b_.i64(0));
    for (const FoldState& state : states) {
      Bank bank = gather_bank(state, shape_);
      merge_below(bank, static_cast<std::uint32_t>(shape_.bits.size()), state.merge, b_, c_.functions);
      totals.push_back(merge_groups(state, broadcast(bank.registers[0])));
    }
    return totals;
  }
  // Each pass leaves its partial states in threadgroup memory, one slot per lane.
  const std::uint32_t passes = 1u << pass_bits_;
  const std::uint32_t slots = passes * plan_.threads;
  const auto in_lanes = static_cast<std::uint32_t>(shape_.bits.size());
  std::vector<std::vector<std::uint32_t>> scratch;
  for (const FoldState& state : states) {
    scratch.emplace_back();
    for (ElementType type : state.types) scratch.back().push_back(c_.shared("passes", type, slots));
  }
  ValueId own = b_.lane();
  if (plan_.threads > plan_.simd_width)  // other SIMD groups have slots of their own, whether they share the row or not
    own = b_.add(own, b_.mul(b_.simd_group(), b_.i32(static_cast<std::int32_t>(passes * plan_.simd_width))));
  const auto slot = [&](ValueId pass) {
    return b_.add(b_.mul(b_.convert(pass, ElementType::i32), b_.i32(static_cast<std::int32_t>(plan_.simd_width))), own);
  };
  std::vector<Bank> shapes(states.size());
  b_.loop(b_.i64(0), b_.i64(passes), b_.i64(1), [&](ValueId pass) {
    accumulate(states, begin, columns, b_.mul(pass, b_.i64(shape_.size())));
    for (std::size_t i = 0; i < states.size(); ++i) {
      Bank bank = gather_bank(states[i], shape_);
      const bool more_registers = bank.register_bits.size() > shape_.lane_bits;
      std::uint32_t limit = 0;
      for (std::uint32_t v = 0; v < in_lanes; ++v)
        if (!shape_.bits[v].in_register) limit = v + 1;
      merge_below(bank, more_registers ? in_lanes : limit, states[i].merge, b_, c_.functions);
      if (bank.registers.size() > 1) merge_below(bank, in_lanes, states[i].merge, b_, c_.functions);
      for (std::size_t k = 0; k < scratch[i].size(); ++k)
        b_.shared_store(scratch[i][k], slot(pass), bank.registers[0][k]);
      shapes[i] = std::move(bank);
    }
  });
  for (std::size_t i = 0; i < states.size(); ++i)
    totals.push_back(
        merge_groups(states[i], broadcast(merge_passes(states[i], scratch[i], shapes[i].lane_bits, slot))));
  return totals;
}

std::vector<ValueId> CooperativeRow::merge_passes(const FoldState& state, const std::vector<std::uint32_t>& scratch,
                                                  std::vector<std::uint32_t> lane_bits,
                                                  const std::function<ValueId(ValueId)>& slot) {
  std::uint32_t first_bit = static_cast<std::uint32_t>(shape_.bits.size());
  std::uint32_t left = pass_bits_;
  const auto load_bank = [&](ValueId from, std::uint32_t bits) {
    Bank bank;
    bank.lane_bits = lane_bits;
    for (std::uint32_t i = 0; i < bits; ++i) bank.register_bits.push_back(first_bit + i);
    for (std::uint32_t r = 0; r < (1u << bits); ++r) {
      bank.registers.emplace_back();
      const ValueId at = slot(b_.add(from, b_.i64(r)));
      for (std::size_t k = 0; k < scratch.size(); ++k)
        bank.registers.back().push_back(b_.shared_load(scratch[k], state.types[k], at));
    }
    return bank;
  };
  for (;;) {
    std::uint32_t in_lanes = 0;
    for (std::uint32_t bit : lane_bits) in_lanes += bit != Bank::kMerged;
    const std::uint32_t bits = std::min(left, std::max(in_lanes, 3u));
    if (bits == left) {
      Bank bank = load_bank(b_.i64(0), bits);
      merge_below(bank, first_bit + bits, state.merge, b_, c_.functions);
      return bank.registers[0];
    }
    // Results go back in place: round i reads slots from i·2^bits on and writes slot i.
    std::vector<std::uint32_t> after;
    b_.loop(b_.i64(0), b_.i64(std::int64_t{1} << (left - bits)), b_.i64(1), [&](ValueId round) {
      Bank bank = load_bank(b_.mul(round, b_.i64(std::int64_t{1} << bits)), bits);
      merge_below(bank, first_bit, state.merge, b_, c_.functions);
      if (bank.registers.size() > 1) merge_below(bank, first_bit + bits, state.merge, b_, c_.functions);
      for (std::size_t k = 0; k < scratch.size(); ++k) b_.shared_store(scratch[k], slot(round), bank.registers[0][k]);
      after = bank.lane_bits;
    });
    lane_bits = after;
    first_bit += bits;
    left -= bits;
  }
}

std::vector<ValueId> CooperativeRow::merge_groups(const FoldState& state, std::vector<ValueId> total) {
  if (group_bits_ == 0) return total;
  const std::uint32_t groups = 1u << group_bits_;
  std::vector<std::uint32_t> partial;
  for (ElementType type : state.types) partial.push_back(c_.shared("partial", type, groups));
  // Segments come round again: nobody may overwrite a partial that another group still reads.
  if (plan_.width.segmented && plan_.order == ir::Order::canonical) b_.barrier();
  b_.branch(b_.binary(lane::Op::eq, b_.lane(), b_.i32(0)), [&] {
    for (std::size_t k = 0; k < partial.size(); ++k) b_.shared_store(partial[k], b_.simd_group(), total[k]);
  });
  b_.barrier();
  const std::uint32_t in_lanes = std::min(group_bits_, log2_of(plan_.simd_width));
  Bank bank;
  for (std::uint32_t i = 0; i < in_lanes; ++i) bank.lane_bits.push_back(i);
  for (std::uint32_t i = in_lanes; i < group_bits_; ++i) bank.register_bits.push_back(i);
  const ValueId mine = b_.binary(lane::Op::bit_and, b_.lane(), b_.i32(static_cast<std::int32_t>((1u << in_lanes) - 1)));
  for (std::uint32_t r = 0; r < (groups >> in_lanes); ++r) {
    bank.registers.emplace_back();
    const ValueId at = b_.add(mine, b_.i32(static_cast<std::int32_t>(r << in_lanes)));
    for (std::size_t k = 0; k < partial.size(); ++k)
      bank.registers.back().push_back(b_.shared_load(partial[k], state.types[k], at));
  }
  merge_below(bank, group_bits_, state.merge, b_, c_.functions);
  return broadcast(bank.registers[0]);
}

void CooperativeRow::accumulate(const States& states, ValueId begin, ValueId columns, ValueId offset) {
  reset(states, shape_.registers());
  const bool blocks = needs_blocks(fold_roots(states));
  const auto run = [&](std::vector<Point> at, std::uint32_t first_register) {
    BankEvaluator bank(c_, *tiles_, shape_, std::move(at));
    for (std::uint32_t r = 0; r < bank.points().size(); ++r) step(states, bank, r, first_register + r);
    tiles_in_sweep_.insert(bank.computed_tiles().begin(), bank.computed_tiles().end());
  };
  for_banks(begin, columns, offset, blocks, [&](ValueId first, std::optional<ValueId> remaining) {
    if (!remaining || blocks) return run(points(shape_, first, remaining), 0);
    for (std::uint32_t r = 0; r < shape_.registers(); ++r) {
      const auto one = [&] { run(point(shape_, r, first, *remaining), r); };
      // With the lanes lowest, a register whose first column is past the end has nothing to do.
      if (plan_.simd_groups_per_row == 1 && shape_.lanes_first() && plan_.layout.rows_per_simd_group == 1 && r > 0)
        b_.branch(b_.binary(lane::Op::lt, b_.i32(static_cast<std::int32_t>(shape_.register_offsets[r])), *remaining),
                  one);
      else
        one();
    }
  });
}

}  // namespace lanefold::lower
