// The oracle's domain of symbols: what a row program means, as expressions that a lane module's can be compared with.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/symbols.h"
#include "oracle/domain.h"
#include "verify/instance.h"

namespace lanefold::verify {

/// A value is an expression. Its elementary functions are named helpers, as in machine runs whose helpers are standard_helpers.
class SymbolDomain {
 public:
  using Value = machine::NodeId;

  /// `row_strides`: of each input, in elements.
  SymbolDomain(machine::Symbols& symbols, const ir::Program& program, std::vector<std::int64_t> row_strides)
      : symbols_(symbols), program_(program), row_strides_(std::move(row_strides)) {}

  Value constant(double literal, ElementType type);
  Value parameter(std::uint32_t index, float value);
  Value load(const oracle::Source& source);
  Value pick(const oracle::Lanes<Value>& run, std::int64_t count, const Value& index, ElementType type);
  void apply(const oracle::Operation& operation, const oracle::Lanes<Value>* operands, std::int64_t count, Value* out);
  /// The merge of two states of argmax or argmin.
  std::array<Value, 2> merge_arg(const std::string& monoid, Value left, Value left_index, Value right,
                                 Value right_index) {
    return symbols_.merge_arg(monoid, left, left_index, right, right_index);
  }

  /// Whether an index depended on data, so that what came out means nothing.
  bool open_index() const { return open_index_; }

 private:
  Value apply_one(const oracle::Operation& operation, const std::array<Value, 3>& operands, std::size_t count);

  machine::Symbols& symbols_;
  const ir::Program& program_;
  std::vector<std::int64_t> row_strides_;
  bool open_index_ = false;
};

/// The stored elements of each output of the program in one row, under an order that is not free.
/// Buffers are named as the program's inputs are, contiguous rows of `cols`. Refuses programs that gather by data
/// (prove_gathers_by_data).
Result<std::vector<std::vector<machine::NodeId>>> canonical_outputs(machine::Symbols& symbols,
                                                                    const ir::Program& program, ir::Order order,
                                                                    std::int64_t rows, std::int64_t cols,
                                                                    std::int64_t row);

}  // namespace lanefold::verify
