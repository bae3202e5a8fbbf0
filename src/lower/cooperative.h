// Rows shared by the lanes of one or more SIMD groups, in canonical or free order.
#pragma once

#include <functional>

#include "lower/points.h"
#include "plan/analysis.h"

namespace lanefold::lower {

/// Emits the body of a kernel whose lanes cooperate on rows: a sweep for each depth of folds, then one that stores.
class CooperativeRow {
 public:
  CooperativeRow(RowContext& context, const plan::Analysis& analysis);
  void emit();

 private:
  struct FoldState {
    std::uint32_t fold = 0;
    const ir::Monoid* monoid = nullptr;
    bool flagged = false;               ///< states carry a presence flag, since the monoid has no exact identity
    std::vector<std::uint32_t> arrays;  ///< one register array per component
    std::vector<ElementType> types;
    std::uint32_t merge = 0;
  };
  using States = std::vector<FoldState>;
  using Totals = std::vector<std::vector<ValueId>>;  ///< [fold][component]

  void begin();
  void begin_lanes();
  FoldState make_state(std::uint32_t fold, std::uint32_t registers);
  void reset(const States& states, std::uint32_t registers);
  void step(const States& states, BankEvaluator& bank, std::size_t point, std::uint32_t element);
  Bank gather_bank(const FoldState& state, const BankShape& shape);
  std::vector<ValueId> identity(const FoldState& state);

  void fold_sweep(const std::vector<std::uint32_t>& folds);
  /// Computes the tiles that the roots need and no sweep has written yet.
  void fill_tiles(const std::vector<ir::ValueId>& roots);
  Totals linear_folds(const States& states);
  Totals segmented_folds(const States& states);
  Totals segment_folds(const States& states, ValueId begin, ValueId columns);
  void accumulate(const States& states, ValueId begin, ValueId columns, ValueId offset);
  std::vector<ValueId> merge_passes(const FoldState& state, const std::vector<std::uint32_t>& scratch,
                                    std::vector<std::uint32_t> lane_bits, const std::function<ValueId(ValueId)>& slot);
  std::vector<ValueId> merge_groups(const FoldState& state, std::vector<ValueId> total);
  std::vector<ValueId> broadcast(std::vector<ValueId> total);

  /// Rows that a SIMD group takes in turn, slice by slice (cooperative_turns.cpp).
  struct Turns {
    States states;
    std::vector<ir::ValueId> roots;
    BankShape unit;  ///< the registers of each fold that are summed together
    std::uint32_t scratch = 0;
    ValueId slice = 0, slice_lanes = 0;
  };
  void emit_in_turn();
  void begin_turn(ValueId turn);
  void copy_slice(const Turns& turns);
  Bank fold_unit(const Turns& turns, std::uint32_t unit, ValueId bank_offset);
  void step_unit(const Turns& turns, std::uint32_t unit, ValueId first, ValueId in_slice,
                 std::optional<ValueId> remaining);
  Bank fold_pass(const Turns& turns, ValueId offset);

  void store_sweep();
  void linear_stores(const std::vector<std::uint32_t>& stores);
  void structured_stores(const std::vector<std::uint32_t>& stores);
  void emit_stores(const std::vector<std::uint32_t>& stores, BankEvaluator& bank);
  void row_stores(const std::vector<std::uint32_t>& stores);

  /// Points of a bank whose first column is `first` (i64); with `remaining` (i32, counted from `first`) they are guarded.
  std::vector<Point> points(const BankShape& shape, ValueId first, std::optional<ValueId> remaining);
  std::vector<Point> point(const BankShape& shape, std::uint32_t index, ValueId first, ValueId remaining);
  /// Calls body(first column, guard) for every bank of the row that this worker owns, structured as the layout says.
  void for_banks(ValueId begin, ValueId columns, ValueId offset, bool whole_banks,
                 const std::function<void(ValueId, std::optional<ValueId>)>& body);
  /// Calls body for banks along the whole row: full ones of shape `wide`, then (with `whole_banks`) one guarded bank of that shape, else
  /// single registers, the last of them guarded. One SIMD group a row only.
  void along_row(const BankShape& wide, bool whole_banks,
                 const std::function<void(const BankShape&, std::vector<Point>)>& body);
  ValueId group_offset();
  ValueId remaining_columns(ValueId end, ValueId first);
  bool needs_blocks(const std::vector<ir::ValueId>& roots) const;
  std::vector<ir::ValueId> fold_roots(const States& states) const;

  RowContext& c_;
  lane::Builder& b_;
  const plan::Plan& plan_;
  const plan::Analysis& analysis_;
  BankShape shape_;
  std::uint32_t pass_bits_ = 0, group_bits_ = 0;
  std::uint32_t along_registers_ = 1;  ///< of a bank of a sweep along the row: wide enough for every block
  bool linear_ = false;                ///< one SIMD group, lanes lowest: sweeps may run along the row
  std::optional<Tiles> tiles_;
  std::set<ir::ValueId> tiles_in_sweep_;  ///< computed by the sweep at hand
  ValueId lane_offset_ = 0, linear_offset_ = 0, linear_offset64_ = 0, lane_offset64_ = 0;
};

}  // namespace lanefold::lower
