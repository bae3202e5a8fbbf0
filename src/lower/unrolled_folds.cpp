// The folds of rows that stay with their workers: steps in each lane, then merges across lanes, SIMD groups and threadgroups.
#include <algorithm>
#include <limits>

#include "lower/expression.h"
#include "lower/unrolled_row.h"

namespace lanefold::lower {

UnrolledRow::FoldState UnrolledRow::make_state(std::uint32_t fold) {
  FoldState state;
  state.fold = fold;
  state.monoid = &c_.program.monoids[c_.program.folds[fold].monoid];
  state.flagged = !state.monoid->identity;
  if (state.flagged) state.types.push_back(ElementType::boolean);
  for (const ir::Field& field : state.monoid->state) state.types.push_back(field.type);
  state.merge = c_.functions.merge(*state.monoid, state.flagged);
  return state;
}

std::uint32_t UnrolledRow::accumulators(const FoldState& state) const {
  // Without an order, a few states are enough: what is not kept apart needs no merge.
  constexpr std::uint32_t kWithoutOrder = 2;
  return state.monoid->reorderable ? std::min(kWithoutOrder, shape_.registers()) : shape_.registers();
}

UnrolledRow::Values UnrolledRow::first_element(const FoldState& state, const Values& element,
                                               std::optional<ValueId> inside) {
  Values lifted = emit_body(state.monoid->lift, element, b_, c_.functions);
  if (!state.flagged && inside)
    for (std::size_t i = 0; i < lifted.size(); ++i) {
      const ValueId none = emit_literal(b_, state.types[i], (*state.monoid->identity)[i]);
      lifted[i] = b_.ternary(lane::Op::select, *inside, lifted[i], none);
    }
  if (state.flagged) lifted.insert(lifted.begin(), inside ? *inside : b_.boolean(true));
  return lifted;
}

void UnrolledRow::step(FoldState& state, std::size_t chunk) {
  BankEvaluator& bank = banks_[chunk];
  for (std::size_t r = 0; r < bank.points().size(); ++r) {
    Values element;
    for (ir::ValueId argument : c_.program.folds[state.fold].arguments) element.push_back(bank.value(argument, r));
    const std::optional<ValueId> inside = bank.points()[r].inside;
    if (state.registers.size() < accumulators(state)) {
      state.registers.push_back(first_element(state, element, inside));
      continue;
    }
    // Where this register has an element, the ones of lower columns have theirs: the state is there.
    Values& now = state.registers[r % accumulators(state)];
    const std::span<const ValueId> before = std::span(now).subspan(state.flagged);
    Values after = c_.functions.step_ascending(b_, *state.monoid, before, element);
    for (std::size_t i = 0; i < after.size(); ++i)
      now[i + state.flagged] = inside ? b_.ternary(lane::Op::select, *inside, after[i], before[i]) : after[i];
  }
}

void UnrolledRow::fold_sweep(const std::vector<std::uint32_t>& folds, bool is_last) {
  std::vector<FoldState> states;
  std::vector<ir::ValueId> roots;
  std::string names;
  for (std::uint32_t fold : folds) {
    if (is_joined(fold)) continue;
    states.push_back(make_state(fold));
    const auto& arguments = c_.program.folds[fold].arguments;
    roots.insert(roots.end(), arguments.begin(), arguments.end());
    names += (names.empty() ? "" : ", ") + states.back().monoid->name;
  }
  if (!states.empty()) {
    c_.prepare(roots, {});
    b_.comment("fold " + names);
    for (std::size_t chunk = 0; chunk < banks_.size(); ++chunk)
      for (FoldState& state : states) step(state, chunk);
    if (is_last) load_ahead(0);
    for (const FoldState& state : states) {
      Values total = merge(state, merge_registers(state));
      if (state.flagged) total.erase(total.begin());
      c_.set_fold(state.fold, emit_body(state.monoid->finish, total, b_, c_.functions));
    }
  }
  for (const plan::ShiftedSum& pair : analysis_.shifted_sums)
    if (joins_sums() && std::find(folds.begin(), folds.end(), pair.max) != folds.end()) fold_shifted_sum(pair);
}

bool UnrolledRow::joins_sums() const { return plan_.order == ir::Order::free; }

bool UnrolledRow::is_joined(std::uint32_t fold) const {
  return joins_sums() &&
         std::any_of(analysis_.shifted_sums.begin(), analysis_.shifted_sums.end(),
                     [&](const plan::ShiftedSum& pair) { return pair.max == fold || pair.sum == fold; });
}

void UnrolledRow::fold_shifted_sum(const plan::ShiftedSum& pair) {
  const auto fold_lane = [&](std::uint32_t fold) {
    FoldState state = make_state(fold);
    c_.prepare(c_.program.folds[fold].arguments, {});
    for (std::size_t chunk = 0; chunk < banks_.size(); ++chunk) step(state, chunk);
    return merge_registers(state);
  };
  b_.comment("fold max of each lane's own elements");
  Bank bank = fold_lane(pair.max);
  const ValueId own_max = bank.registers[0][0];
  // What has no element above −inf is shifted by nothing: −inf − −inf would be NaN.
  const ValueId none = emit_literal(b_, ElementType::f32, -std::numeric_limits<float>::infinity());
  const ValueId shift = b_.ternary(lane::Op::select, b_.binary(lane::Op::eq, own_max, none), b_.f32(0.0f), own_max);
  c_.set_fold(pair.max, {shift});
  b_.comment("fold sum of the exponentials, shifted by that maximum");
  bank.registers[0].push_back(fold_lane(pair.sum).registers[0][0]);
  static const ir::Monoid kBoth = *ir::builtin_monoid("logsumexp");
  FoldState both{.fold = pair.sum,
                 .monoid = &kBoth,
                 .flagged = false,
                 .types = {ElementType::f32, ElementType::f32},
                 .merge = c_.functions.merge(kBoth, false)};
  const Values total = merge(both, std::move(bank));
  c_.set_fold(pair.max, {total[0]});
  // A maximum of ±inf or NaN makes the sum NaN, as the shift by it does.
  c_.set_fold(pair.sum, {b_.add(total[1], b_.sub(total[0], total[0]))});
}

bool UnrolledRow::in_any_order(const FoldState& state) const {
  return plan_.order == ir::Order::free || state.monoid->reorderable;
}

Bank UnrolledRow::merge_registers(const FoldState& state) {
  Bank bank = make_bank(shape_, state.registers);
  if (state.monoid->reorderable) {
    bank.register_bits.clear();
    for (std::uint32_t i = 0; (1u << i) < bank.registers.size(); ++i) bank.register_bits.push_back(i);
  }
  // Where any order will do, registers go first: they need no shuffle.
  if (in_any_order(state))
    while (!bank.register_bits.empty()) merge_lowest_register_bit(bank, state.merge, b_, c_.functions);
  return bank;
}

UnrolledRow::Values UnrolledRow::merge(const FoldState& state, Bank bank) {
  merge_below(bank, static_cast<std::uint32_t>(shape_.bits.size()), state.merge, b_, c_.functions);
  return plan_.cluster > 1 ? merge_cluster(state, bank.registers[0]) : merge_groups(state, bank.registers[0]);
}

UnrolledRow::Values UnrolledRow::merge_cluster(const FoldState& state, const Values& own) {
  const std::uint32_t bits = group_bits_ + log2_of(plan_.cluster);
  const auto first = static_cast<std::uint32_t>(c_.kernel.shared.size());
  Values given = own;
  for (std::size_t k = 0; k < state.types.size(); ++k) {
    // Blocks give each other words.
    const bool is_flag = state.types[k] == ElementType::boolean;
    c_.shared("part", is_flag ? ElementType::i32 : state.types[k], 1u << bits);
    if (is_flag) given[k] = b_.convert(given[k], ElementType::i32);
  }
  b_.exchange(first, given);
  // Few are read by each lane; of more, each lane reads those that lie a SIMD group apart.
  const std::uint32_t in_lanes = bits <= 3 ? 0 : std::min(bits, log2_of(plan_.simd_width));
  Bank bank;
  for (std::uint32_t i = 0; i < in_lanes; ++i) bank.lane_bits.push_back(i);
  for (std::uint32_t i = in_lanes; i < bits; ++i) bank.register_bits.push_back(i);
  const ValueId lane = in_lanes == 0 ? b_.i32(0) : b_.binary(lane::Op::bit_and, b_.lane(), b_.i32((1 << in_lanes) - 1));
  for (std::uint32_t r = 0; r < (1u << (bits - in_lanes)); ++r) {
    bank.registers.emplace_back();
    const ValueId at = b_.add(lane, b_.i32(static_cast<std::int32_t>(r << in_lanes)));
    for (std::uint32_t k = 0; k < state.types.size(); ++k) {
      const bool is_flag = state.types[k] == ElementType::boolean;
      const ValueId value = b_.shared_load(first + k, is_flag ? ElementType::i32 : state.types[k], at);
      bank.registers.back().push_back(is_flag ? b_.binary(lane::Op::ne, value, b_.i32(0)) : value);
    }
  }
  if (in_any_order(state))
    while (!bank.register_bits.empty()) merge_lowest_register_bit(bank, state.merge, b_, c_.functions);
  merge_below(bank, bits, state.merge, b_, c_.functions);
  return bank.registers[0];
}

UnrolledRow::Values UnrolledRow::merge_groups(const FoldState& state, const Values& own) {
  if (group_bits_ == 0) return own;
  const std::uint32_t groups = 1u << group_bits_;
  std::vector<std::uint32_t> partial;
  for (ElementType type : state.types) partial.push_back(c_.shared("partial", type, groups));
  b_.branch(b_.binary(lane::Op::eq, b_.lane(), b_.i32(0)), [&] {
    for (std::size_t k = 0; k < partial.size(); ++k) b_.shared_store(partial[k], b_.simd_group(), own[k]);
  });
  b_.barrier();
  // Each lane reads neighbours into registers: merging those takes no shuffle.
  const std::uint32_t in_registers = std::min(group_bits_, 3u), in_lanes = group_bits_ - in_registers;
  Bank bank;
  for (std::uint32_t i = 0; i < in_registers; ++i) bank.register_bits.push_back(i);
  for (std::uint32_t i = 0; i < in_lanes; ++i) bank.lane_bits.push_back(in_registers + i);
  ValueId first = b_.i32(0);
  if (in_lanes > 0) {
    const ValueId mine = b_.binary(lane::Op::bit_and, b_.lane(), b_.i32((1 << in_lanes) - 1));
    first = b_.binary(lane::Op::shift_left, mine, b_.i32(static_cast<std::int32_t>(in_registers)));
  }
  for (std::uint32_t r = 0; r < (1u << in_registers); ++r) {
    bank.registers.emplace_back();
    const ValueId at = b_.add(first, b_.i32(static_cast<std::int32_t>(r)));
    for (std::size_t k = 0; k < partial.size(); ++k)
      bank.registers.back().push_back(b_.shared_load(partial[k], state.types[k], at));
  }
  merge_below(bank, group_bits_, state.merge, b_, c_.functions);
  return bank.registers[0];
}

}  // namespace lanefold::lower
