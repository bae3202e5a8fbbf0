// The serial order: one lane a row, columns from left to right.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "lower/row_context.h"
#include "plan/analysis.h"

namespace lanefold::lower {

/// Emits the body of a kernel in which each lane folds a row of its own in column order.
class SerialRow {
 public:
  SerialRow(RowContext& context, const plan::Analysis& analysis) : c_(context), b_(context.b), analysis_(analysis) {}
  void emit();

 private:
  using Values = std::map<ir::ValueId, ValueId>;
  using Body = std::function<void(ValueId column, Values& known)>;

  /// Calls body for each column of [begin, end), with the block folds that the roots need already known there.
  void for_columns(ValueId begin, ValueId end, const std::vector<ir::ValueId>& roots, const Body& body);
  /// The results of left folds over the columns [begin, end), one list per fold.
  std::vector<std::vector<ValueId>> left_folds(const std::vector<std::uint32_t>& folds, ValueId begin, ValueId end);
  void store_sweep();
  ValueId value(ir::ValueId id, ValueId column, Values& known);

  RowContext& c_;
  lane::Builder& b_;
  const plan::Analysis& analysis_;
};

}  // namespace lanefold::lower
