// Rows that stay with their workers: every element has its place at compile time, and inputs are read once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lower/points.h"
#include "plan/analysis.h"

namespace lanefold::lower {

/// Emits the body of a kernel whose plan keeps the row in registers: all loads, then a sweep for each depth of folds, then the stores.
/// The code is straight: what a sweep computes, later ones have as a value.
class UnrolledRow {
 public:
  UnrolledRow(RowContext& context, const plan::Analysis& analysis);
  void emit();

 private:
  using Values = std::vector<ValueId>;
  /// A fold on its way: one state per register and lane.
  struct FoldState {
    std::uint32_t fold = 0;
    const ir::Monoid* monoid = nullptr;
    bool flagged = false;  ///< states begin with a presence flag, since the monoid has no exact identity
    std::vector<ElementType> types;
    std::uint32_t merge = 0;
    std::vector<Values> registers = {};  ///< [register][component]
  };

  void place_points();
  void load(const std::vector<std::uint32_t>& inputs, std::span<BankEvaluator> banks);
  /// Loads inputs that the row has one of, or what they choose of others: long before they are used.
  void load_row_values(ir::Op op);
  std::vector<std::uint32_t> inputs_of_first_sweep() const;
  /// Begins the loads of what the stores of the banks from `first` on read. No load moves over a store or an exchange of threadgroups: without
  /// this, workers would wait for memory at each bank.
  void load_ahead(std::size_t first);
  void fold_sweep(const std::vector<std::uint32_t>& folds, bool is_last);
  FoldState make_state(std::uint32_t fold);
  void step(FoldState& state, std::size_t chunk);
  /// States of a fold in each lane.
  std::uint32_t accumulators(const FoldState& state) const;
  Values first_element(const FoldState& state, const Values& element, std::optional<ValueId> inside);
  bool in_any_order(const FoldState& state) const;
  /// The state of each lane: registers are merged as far as the order allows before lanes are.
  Bank merge_registers(const FoldState& state);
  Values merge(const FoldState& state, Bank bank);
  /// Whether a maximum and the sum that is shifted by it are folded together.
  bool joins_sums() const;
  bool is_joined(std::uint32_t fold) const;
  void fold_shifted_sum(const plan::ShiftedSum& pair);
  /// Merges what the SIMD groups of the row have, one state each.
  Values merge_groups(const FoldState& state, const Values& own);
  /// Merges what the SIMD groups of all threadgroups of the row have.
  Values merge_cluster(const FoldState& state, const Values& own);
  /// How many banks compute what they store before one of them stores.
  std::size_t banks_stored_together() const;
  void store_sweep();
  void store(std::uint32_t index, BankEvaluator& bank, const std::vector<ValueId>& values);
  /// Adds the bank's blocks to those that one store is for.
  void add_blocks(std::uint32_t index, BankEvaluator& bank, const std::vector<ValueId>& values,
                  std::vector<BlockValue>& blocks);
  void store_rows(const std::vector<std::uint32_t>& stores);

  RowContext& c_;
  lane::Builder& b_;
  const plan::Plan& plan_;
  const plan::Analysis& analysis_;
  BankShape shape_;
  std::uint32_t group_bits_ = 0, cluster_bits_ = 0;  ///< of the layout
  Tiles tiles_;                                      ///< none: values are kept as they are
  std::vector<BankEvaluator> banks_;                 ///< one per chunk of V columns
};

}  // namespace lanefold::lower
