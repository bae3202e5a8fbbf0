// Rows that a SIMD group takes in turn. The columns are cut into slices; a slice of what all rows share is copied to threadgroup memory, and each row
// in turn folds its part of the slice. The partial results of joined folds meet in the lanes of one vector before any virtual lanes merge across
// vectors, so that all later merges are of whole vectors.
#include <algorithm>

#include "lower/cooperative.h"
#include "lower/expression.h"
#include "plan/turns.h"

namespace lanefold::lower {

void CooperativeRow::emit_in_turn() {
  begin_lanes();
  const auto turns_taken = static_cast<std::int64_t>(plan_.rows_per_threadgroup);
  const std::int64_t virtual_lanes = plan_.width.virtual_lanes, span = shape_.size();
  const std::uint32_t passes = 1u << pass_bits_;
  const std::int64_t slice_lanes = plan::slice_lanes(plan_);
  const std::uint32_t registers = plan::joined_registers(plan_.simd_width, analysis_);
  Turns turns;
  for (std::uint32_t fold : analysis_.sweeps[0].folds) turns.states.push_back(make_state(fold, registers));
  turns.roots = fold_roots(turns.states);
  turns.unit = linear_shape(shape_.lane_bits, log2_of(registers));
  turns.slice_lanes = b_.i64(slice_lanes);
  const FoldState& first = turns.states.front();
  for (std::uint32_t input : analysis_.shared_inputs)
    c_.set_copy(input, c_.shared("copy", register_type(c_.program.inputs[input].storage), plan::slice_elements(plan_)));
  turns.scratch =
      c_.shared("passes", first.types[0], passes * plan_.simd_width * static_cast<std::uint32_t>(turns_taken));
  const auto slot = [&](ValueId turn, ValueId pass) {
    const ValueId at = b_.add(b_.mul(turn, b_.i64(passes)), pass);
    return b_.add(b_.convert(b_.mul(at, b_.i64(plan_.simd_width)), ElementType::i32), b_.lane());
  };
  std::vector<std::uint32_t> lane_bits;
  b_.comment("fold " + first.monoid->name + ", rows in turn");
  b_.loop(b_.i64(0), b_.i64(virtual_lanes), turns.slice_lanes, [&](ValueId slice) {
    turns.slice = slice;
    copy_slice(turns);
    b_.loop(b_.i64(0), b_.i64(turns_taken), b_.i64(1), [&](ValueId turn) {
      begin_turn(turn);
      c_.prepare(turns.roots, {});
      b_.loop(slice, b_.add(slice, turns.slice_lanes), b_.i64(span), [&](ValueId offset) {
        const Bank bank = fold_pass(turns, offset);
        const ValueId pass =
            b_.binary(lane::Op::shift_right, offset, b_.i64(log2_of(static_cast<std::uint64_t>(span))));
        b_.shared_store(turns.scratch, slot(turn, pass), bank.registers[0][0]);
        lane_bits = bank.lane_bits;
      });
    });
  });
  b_.comment("merge passes and store");
  b_.loop(b_.i64(0), b_.i64(turns_taken), b_.i64(1), [&](ValueId turn) {
    begin_turn(turn);
    const std::vector<ValueId> total =
        merge_passes(first, {turns.scratch}, lane_bits, [&](ValueId pass) { return slot(turn, pass); });
    for (std::uint32_t i = 0; i < turns.states.size(); ++i) {
      const std::vector<ValueId> own = {b_.shuffle(total[0], b_.i32(static_cast<std::int32_t>(i)))};
      c_.set_fold(turns.states[i].fold, emit_body(turns.states[i].monoid->finish, own, b_, c_.functions));
    }
    store_sweep();
  });
}

void CooperativeRow::begin_turn(ValueId turn) {
  c_.begin_row(b_.add(b_.mul(b_.threadgroup(), b_.i64(plan_.rows_per_threadgroup)), turn), true);
}

void CooperativeRow::copy_slice(const Turns& turns) {
  c_.begin_columns();
  // Whole cache lines of each input: the same columns of several vectors often claim the same places of a cache.
  const BankShape one =
      linear_shape(shape_.lane_bits,
                   std::min(2u, log2_of(static_cast<std::uint64_t>(plan::slice_lanes(plan_)) >> shape_.lane_bits)));
  b_.loop(b_.i64(0), c_.cols, b_.i64(plan_.width.virtual_lanes), [&](ValueId chunk) {
    const ValueId first_column = b_.add(chunk, turns.slice);
    const ValueId step =
        b_.binary(lane::Op::shift_right, chunk, b_.i64(log2_of(static_cast<std::uint64_t>(plan_.width.virtual_lanes))));
    const ValueId first_place = b_.mul(step, turns.slice_lanes);
    b_.loop(b_.i64(0), turns.slice_lanes, b_.i64(one.size()), [&](ValueId at) {
      const ValueId first = b_.add(first_column, at);
      const ValueId place = b_.add(b_.convert(b_.add(first_place, at), ElementType::i32), b_.lane());
      const auto copy = [&](std::optional<ValueId> remaining) {
        const std::vector<Point> from = points(one, first, remaining);
        for (std::uint32_t input : analysis_.shared_inputs)
          for (const Point& p : from)
            b_.shared_store(*c_.copy_of(input), b_.add(place, b_.i32(static_cast<std::int32_t>(p.offset))),
                            c_.load_input(input, p.column, p.inside));
      };
      b_.branch(
          b_.binary(lane::Op::le, b_.add(first, b_.i64(one.size())), c_.cols), [&] { copy(std::nullopt); },
          // Zeros past the row's end: a unit that is only partly inside reads all of its columns.
          [&] { copy(remaining_columns(c_.cols, first)); });
    });
  });
}

void CooperativeRow::step_unit(const Turns& turns, std::uint32_t unit, ValueId first, ValueId in_slice,
                               std::optional<ValueId> remaining) {
  std::vector<Point> at = points(turns.unit, first, remaining);
  const ValueId place = b_.convert(in_slice, ElementType::i32);
  for (Point& p : at) p.in_slice = b_.add(b_.add(place, b_.i32(static_cast<std::int32_t>(p.offset))), b_.lane());
  // From here on a register is one of the whole bank, so that blocks and cache lines are found as in any other.
  for (Point& p : at) p.offset += unit * turns.unit.size();
  BankEvaluator bank(c_, *tiles_, shape_, std::move(at));
  for (std::uint32_t r = 0; r < bank.points().size(); ++r) step(turns.states, bank, r, r);
}

Bank CooperativeRow::fold_unit(const Turns& turns, std::uint32_t unit, ValueId bank_offset) {
  const ValueId offset = b_.add(bank_offset, b_.i64(std::int64_t{unit} * turns.unit.size()));
  reset(turns.states, turns.unit.registers());
  const auto lanes = static_cast<std::uint64_t>(plan_.width.virtual_lanes);
  // Steps of the virtual lanes in which the whole unit has columns, then one in which some of it may.
  const ValueId reach = b_.add(b_.sub(c_.cols, offset), b_.i64(static_cast<std::int64_t>(lanes) - turns.unit.size()));
  const ValueId full = b_.binary(lane::Op::shift_right, reach, b_.i64(log2_of(lanes)));
  const ValueId place = b_.sub(offset, turns.slice);
  const auto column = [&](ValueId k) { return b_.add(offset, b_.mul(k, b_.i64(static_cast<std::int64_t>(lanes)))); };
  const auto in_slice = [&](ValueId k) { return b_.add(place, b_.mul(k, turns.slice_lanes)); };
  b_.loop(b_.i64(0), full, b_.i64(1), [&](ValueId k) { step_unit(turns, unit, column(k), in_slice(k), std::nullopt); });
  const ValueId last = column(full);
  b_.branch(b_.binary(lane::Op::lt, last, c_.cols),
            [&] { step_unit(turns, unit, last, in_slice(full), remaining_columns(c_.cols, last)); });
  Bank bank;
  const std::uint32_t folds = plan::joined_folds(analysis_);
  for (std::uint32_t f = 1; f < folds; f *= 2) bank.register_bits.push_back(Bank::kFold);
  for (std::uint32_t r = 1; r < turns.unit.registers(); r *= 2)
    bank.register_bits.push_back(static_cast<std::uint32_t>(shape_.lane_bits + bank.register_bits.size()) -
                                 log2_of(folds));
  for (std::uint32_t i = 0; i < shape_.lane_bits; ++i) bank.lane_bits.push_back(i);
  for (std::uint32_t r = 0; r < turns.unit.registers(); ++r)
    for (std::uint32_t f = 0; f < folds; ++f)
      bank.registers.push_back(f < turns.states.size()
                                   ? std::vector{b_.get(turns.states[f].arrays[0], r, turns.states[f].types[0])}
                                   : identity(turns.states[0]));
  merge_below(bank, shape_.lane_bits, turns.states[0].merge, b_, c_.functions);
  return bank;
}

Bank CooperativeRow::fold_pass(const Turns& turns, ValueId offset) {
  const std::uint32_t units = shape_.registers() / turns.unit.registers();
  const std::uint32_t in_bank = static_cast<std::uint32_t>(shape_.bits.size());
  Bank whole;
  for (std::uint32_t u = 0; u < units; ++u) {
    Bank bank = fold_unit(turns, u, offset);
    whole.registers.push_back(std::move(bank.registers[0]));
    whole.lane_bits = std::move(bank.lane_bits);
  }
  for (std::uint32_t bit = in_bank - log2_of(units); bit < in_bank; ++bit) whole.register_bits.push_back(bit);
  merge_registers(whole, in_bank, turns.states[0].merge, b_, c_.functions);
  return whole;
}

}  // namespace lanefold::lower
