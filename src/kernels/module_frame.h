// A hand-written kernel under construction: its declarations, its builder, and the phrases that such kernels share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/hand_written.h"
#include "lane/builder.h"
#include "lower/functions.h"
#include "math/portable.h"

namespace lanefold::kernels {

using lane::ValueId;

/// A weight matrix [rows, columns] that a kernel reads; every element loads as f32.
struct Weights {
  WeightFormat format = WeightFormat::bf16;
  std::uint32_t values = 0;  ///< bf16 elements, or the codes of the blocks as i8
  std::uint32_t scales = 0;  ///< q8_0: the same memory as f16
  std::int64_t columns = 0;
};

/// The addresses at which one row of weights begins.
struct WeightRow {
  Weights weights;
  ValueId values = 0;
  ValueId scales = 0;
};

class ModuleFrame {
 public:
  /// A module and its one kernel, both of that name.
  ModuleFrame(std::string_view name, std::uint32_t simd_width, std::int64_t simd_groups, std::int64_t threadgroups);
  ModuleFrame(const ModuleFrame&) = delete;
  ModuleFrame& operator=(const ModuleFrame&) = delete;

  lane::Builder& builder() { return builder_; }
  std::int64_t simd_width() const { return kernel_.simd_width; }
  std::int64_t simd_groups() const { return kernel_.simd_groups; }
  std::int64_t threads() const { return simd_width() * simd_groups(); }

  /// Declarations of f32 buffers, weights, and f32 arrays; they give the number of what they declare.
  std::uint32_t input(std::string_view name, const std::vector<std::int64_t>& shape);
  std::uint32_t output(std::string_view name, const std::vector<std::int64_t>& shape);
  std::uint32_t inout(std::string_view name, const std::vector<std::int64_t>& shape);
  Weights weights(std::string_view name, WeightFormat format, std::int64_t rows, std::int64_t columns);
  std::uint32_t shared(std::string_view name, std::int64_t size);
  std::uint32_t registers(std::string_view name, std::int64_t size = 1);

  ValueId i64(std::int64_t value) { return builder_.i64(value); }
  /// The lane, SIMD group and thread as i64, and the thread as i32.
  ValueId lane() { return wide(builder_.lane()); }
  ValueId simd_group() { return wide(builder_.simd_group()); }
  ValueId thread() { return wide(narrow_thread()); }
  ValueId narrow_thread();
  ValueId wide(ValueId value) { return builder_.convert(value, ElementType::i64); }
  ValueId narrow(ValueId value) { return builder_.convert(value, ElementType::i32); }
  /// base + index·stride, i64.
  ValueId at(ValueId base, ValueId index, std::int64_t stride);
  /// index / by and index % by of an index that is not negative.
  ValueId quotient(ValueId index, std::int64_t by);
  ValueId remainder(ValueId index, std::int64_t by);

  ValueId load(std::uint32_t buffer, ValueId address);
  /// Every stored float has one NaN, so that bytes never depend on a NaN's payload.
  void store(std::uint32_t buffer, ValueId address, ValueId value);
  /// For a value that canonical() gave.
  void store_canonical(std::uint32_t buffer, ValueId address, ValueId value);
  ValueId canonical(ValueId value) { return builder_.unary(lane::Op::canonical_nan, value); }
  /// Where row `row` of the weights begins, and the weight in column `column` of it.
  WeightRow row(const Weights& weights, ValueId row);
  ValueId load(const WeightRow& row, ValueId column);

  ValueId fma(ValueId a, ValueId b, ValueId c) { return builder_.ternary(lane::Op::fma, a, b, c); }
  ValueId divide(ValueId a, ValueId b) { return builder_.binary(lane::Op::div, a, b); }
  ValueId less(ValueId a, ValueId b) { return builder_.binary(lane::Op::lt, a, b); }
  ValueId equal(ValueId a, ValueId b) { return builder_.binary(lane::Op::eq, a, b); }
  ValueId both(ValueId a, ValueId b) { return builder_.binary(lane::Op::bit_and, a, b); }
  ValueId select(ValueId condition, ValueId a, ValueId b) {
    return builder_.ternary(lane::Op::select, condition, a, b);
  }
  ValueId exp(ValueId x) { return functions_.call(builder_, math::Function::exp, x); }
  ValueId sigmoid(ValueId x) { return functions_.call(builder_, math::Function::sigmoid, x); }
  ValueId silu(ValueId x) { return builder_.mul(x, sigmoid(x)); }
  /// The sum over the lanes of a SIMD group that differ in the lowest `bits` bits, in all of them, neighbours first.
  ValueId sum_lanes(ValueId value, std::uint32_t bits);
  ValueId sum_lanes(ValueId value);

  /// body(i) for i = first, first + step, … below count; first lies in 0 … step − 1 and may differ between lanes.
  void strided(ValueId first, std::int64_t count, std::int64_t step, const std::function<void(ValueId)>& body);

  /// The module. The frame is spent.
  lane::Module finish();

 private:
  ValueId with_constant(lane::Op op, ValueId index, std::uint64_t constant);
  std::uint32_t buffer(std::string_view name, ElementType type, lane::Role role, std::uint32_t index,
                       const std::vector<std::int64_t>& shape);

  lane::Module module_;
  lane::Kernel kernel_;
  lane::Builder builder_{kernel_.types, kernel_.body};
  lower::FunctionTable functions_{module_};
  std::uint32_t inputs_ = 0, outputs_ = 0, inouts_ = 0;
};

}  // namespace lanefold::kernels
