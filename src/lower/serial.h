// The serial order, columns from left to right: one lane a row, or every lane the whole row.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "lower/row_context.h"
#include "plan/analysis.h"

namespace lanefold::lower {

/// Emits the body of a kernel in which a lane folds a whole row in column order.
class SerialRow {
 public:
  SerialRow(RowContext& context, const plan::Analysis& analysis) : c_(context), b_(context.b), analysis_(analysis) {}
  /// Each lane folds and stores a row of its own.
  void emit();
  /// Each lane folds the whole row and stores `chunk` columns of it, as kernels without cooperation do. The kernel says how
  /// many columns a threadgroup stores.
  void emit_per_lane(std::uint32_t chunk);

 private:
  using Values = std::map<ir::ValueId, ValueId>;
  using Body = std::function<void(ValueId column, Values& known)>;

  /// i64: the number of this lane in its threadgroup.
  ValueId thread();
  /// Folds the row, sweep after sweep.
  void fold_sweeps();
  /// The column of a loop counter.
  ValueId column_at(ValueId counter) { return base_ ? b_.add(*base_, counter) : counter; }
  /// Calls body for the column of each counter in [begin, end), with the block folds that the roots need already known there.
  void for_columns(ValueId begin, ValueId end, const std::vector<ir::ValueId>& roots, const Body& body);
  /// The results of left folds over the columns [begin, end), one list per fold.
  std::vector<std::vector<ValueId>> left_folds(const std::vector<std::uint32_t>& folds, ValueId begin, ValueId end);
  void store_sweep(ValueId columns, const std::function<void(const std::function<void()>&)>& row_stores);
  ValueId value(ir::ValueId id, ValueId column, Values& known);

  RowContext& c_;
  lane::Builder& b_;
  const plan::Analysis& analysis_;
  std::optional<ValueId> base_;  ///< i64: a lane's first column in the sweep at hand; none: 0
};

}  // namespace lanefold::lower
