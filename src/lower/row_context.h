// What every lowering of a row needs: the kernel's arguments, the row at hand, and values that do not vary along it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "lane/builder.h"
#include "lower/functions.h"
#include "lower/lower.h"
#include "plan/plan.h"

namespace lanefold::lower {

class RowContext {
 public:
  RowContext(const ir::Program& program, const plan::Plan& plan, const Access& access, lane::Kernel& kernel,
             lane::Builder& builder, FunctionTable& functions);

  /// The row that this lane works on, as the plan packs rows; 2^lane_bits lanes share one. May lie past the last row.
  ValueId row_of_lane(std::uint32_t lane_bits);
  /// Whether this lane is the first worker of its row.
  std::optional<ValueId> is_first_worker(std::uint32_t lane_bits);
  /// Fixes the row that this lane works on. Where the threadgroup may reach past the last row, the row is clamped to a real one
  /// and stores are guarded, so that every lane stays active.
  void begin_row(ValueId row, bool may_exceed);
  /// Lets inputs of kind column be loaded, here and in the blocks below; begin_row does so for its row.
  void begin_columns();

  /// The value of a uniform or row value; computed at the current place on first use, so call it outside of loops.
  ValueId row_value(ir::ValueId id);
  /// Records the results of a row fold from here on, also where it had others.
  void set_fold(std::uint32_t fold, std::vector<ValueId> results);
  /// Computes, here, every row or uniform value that the given values will ask for. `stop` values are not entered.
  void prepare(const std::vector<ir::ValueId>& roots, const std::map<ir::ValueId, ValueId>& stop);

  /// Loads input `index` at an i64 column (block inputs: block index; ignored for row inputs). Under `inside`, lanes outside get 0.
  /// Where all lanes' columns lie in one block of 32, `base` is one of them that all lanes share: what is packed by blocks then
  /// has addresses that follow one another.
  ValueId load_input(std::uint32_t index, ValueId column, std::optional<ValueId> inside,
                     std::optional<ValueId> base = std::nullopt, bool streaming = false);
  /// `width` consecutive columns of a unit-stride input from `column` on. Under `inside`, lanes outside get 0.
  std::vector<ValueId> load_vector(std::uint32_t index, ValueId column, std::uint32_t width,
                                   std::optional<ValueId> inside = std::nullopt);
  /// Whether consecutive columns are consecutive elements.
  bool unit_stride(std::uint32_t input) const {
    return !is_set(access_.strided_inputs, input) && !is_set(access_.packed_inputs, input);
  }
  /// The same for an output.
  bool unit_stride_output(std::uint32_t output) const {
    return !is_set(access_.strided_outputs, output) && !is_set(access_.packed_outputs, output);
  }
  ValueId gather(const ir::Value& value, ValueId index);

  /// Stores to output `index` at an i64 column of its own, where `condition` holds.
  /// `streaming` marks a whole SIMD group's store of consecutive, aligned elements.
  void store_output(std::uint32_t index, ValueId column, ValueId value, std::optional<ValueId> condition,
                    bool streaming = false, std::optional<ValueId> base = std::nullopt);
  /// Stores consecutive columns of output `index` from `column` on, which is aligned as the width class promises.
  void store_vector(std::uint32_t index, ValueId column, std::span<const ValueId> values,
                    std::optional<ValueId> condition, bool streaming);
  bool streams() const { return access_.streaming; }
  /// Whether each element is loaded once, from memory far away: a matrix of which rows are folded, once, and nothing else.
  bool streams_inputs() const { return access_.streaming && folds_once_; }
  void say_folds_once(bool once) { folds_once_ = once; }

  /// The lane value of an arithmetic operation of the program over lane values.
  ValueId operation(const ir::Value& value, std::span<const ValueId> operands);

  /// A fresh register array of the kernel.
  std::uint32_t registers(const std::string& name, ElementType type, std::uint32_t size);
  std::uint32_t shared(const std::string& name, ElementType type, std::uint32_t size);

  std::optional<ValueId> both(std::optional<ValueId> a, std::optional<ValueId> b);

  /// Input `index` has been copied to threadgroup array `array`, of a slice of columns that is read from there.
  void set_copy(std::uint32_t index, std::uint32_t array) { copies_[index] = array; }
  std::optional<std::uint32_t> copy_of(std::uint32_t index) const {
    const auto found = copies_.find(index);
    return found == copies_.end() ? std::nullopt : std::optional(found->second);
  }

  const ir::Program& program;
  const plan::Plan& plan;
  lane::Kernel& kernel;
  lane::Builder& b;
  FunctionTable& functions;
  ValueId rows = 0, cols = 0, cols32 = 0;  ///< i64, i64, i32

 private:
  struct Binding {
    std::uint32_t buffer = 0;
    std::optional<std::uint32_t> row_stride, column_stride;  ///< argument numbers
    std::optional<ValueId> row_offset;                       ///< i64, of the row at hand
    std::optional<ValueId> column_step;
    bool packed = false;
  };
  static bool is_set(const std::vector<bool>& facts, std::uint32_t index) { return !facts.empty() && facts[index]; }
  Binding declare(const std::string& name, ElementType type, const ir::Kind& kind, bool strided, bool output,
                  std::uint32_t index);
  bool is_nonpositive(ir::ValueId id) const;
  ValueId address(Binding& binding, ValueId column, std::optional<ValueId> base = std::nullopt);
  /// The value as output `index` takes it.
  ValueId as_stored(std::uint32_t index, ValueId value);
  std::uint32_t alignment(std::uint32_t width) const;
  ValueId guarded(ElementType type, std::optional<ValueId> condition, ValueId fallback,
                  const std::function<ValueId()>& load);

  Access access_;
  bool folds_once_ = false;
  std::vector<Binding> inputs_, outputs_;
  std::vector<std::uint32_t> parameters_;
  std::optional<ValueId> row_inside_;
  std::map<std::uint32_t, std::uint32_t> copies_;
  std::map<ir::ValueId, ValueId> row_values_;
  std::map<std::uint32_t, std::vector<ValueId>> fold_results_;
};

}  // namespace lanefold::lower
