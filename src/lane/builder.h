// A builder of lane modules: each call appends one statement to the current block.
#pragma once

#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lane/module.h"

namespace lanefold::lane {

/// Builds the body of one kernel or function. `V` handles are ValueIds of that body. Arithmetic on constants is folded
/// only for integers; a constant, the lane, group and threadgroup numbers are defined once per block.
class Builder {
 public:
  Builder(std::vector<ElementType>& types, std::vector<Statement>& body) : types_(&types), blocks_{&body} {}

  ElementType type(ValueId v) const { return (*types_)[v]; }

  ValueId f32(float v) { return constant(ElementType::f32, std::bit_cast<std::uint32_t>(v)); }
  ValueId i32(std::int32_t v) { return constant(ElementType::i32, static_cast<std::uint32_t>(v)); }
  ValueId i64(std::int64_t v) { return constant(ElementType::i64, static_cast<std::uint64_t>(v)); }
  ValueId boolean(bool v) { return constant(ElementType::boolean, v); }
  ValueId constant(ElementType type, std::uint64_t bits);

  ValueId argument(std::uint32_t index, ElementType type);
  ValueId lane() { return leaf(Op::lane, ElementType::i32); }
  ValueId simd_group() { return leaf(Op::simd_group, ElementType::i32); }
  ValueId cluster_rank() { return leaf(Op::cluster_rank, ElementType::i32); }
  ValueId threadgroup() { return leaf(Op::threadgroup, ElementType::i64); }

  /// A one-operand, two-operand or three-operand arithmetic operation; the result type follows from the operation.
  ValueId unary(Op op, ValueId a);
  ValueId binary(Op op, ValueId a, ValueId b);
  ValueId ternary(Op op, ValueId a, ValueId b, ValueId c);
  ValueId add(ValueId a, ValueId b) { return binary(Op::add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(Op::sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(Op::mul, a, b); }
  ValueId convert(ValueId a, ElementType to);
  ValueId bitcast(ValueId a, ElementType to);
  std::vector<ValueId> call(std::uint32_t function, std::span<const ValueId> arguments,
                            std::span<const ElementType> results);

  ValueId get(std::uint32_t array, std::uint32_t element, ElementType type);
  void set(std::uint32_t array, std::uint32_t element, ValueId value);

  /// Loads `width` consecutive elements; values have the register type of the buffer's element type.
  std::vector<ValueId> load(std::uint32_t buffer, ElementType storage, ValueId address, std::uint32_t width = 1,
                            std::uint32_t alignment = 1, bool streaming = false);
  void store(std::uint32_t buffer, ValueId address, std::span<const ValueId> values, std::uint32_t alignment = 1,
             bool streaming = false);
  ValueId shared_load(std::uint32_t array, ElementType type, ValueId index);
  void shared_store(std::uint32_t array, ValueId index, ValueId value);
  /// Of the threadgroup `rank` (i32) of the cluster.
  ValueId peer_load(std::uint32_t array, ElementType type, ValueId rank, ValueId index);

  ValueId shuffle_xor(ValueId a, std::uint32_t distance);
  ValueId shuffle_down(ValueId a, std::uint32_t distance);
  ValueId shuffle(ValueId a, ValueId lane);
  /// values: [register][component]; result in the same order (see Statement).
  std::vector<ValueId> fold_lanes(std::uint32_t function, std::span<const ValueId> values, std::uint32_t components,
                                  std::uint32_t first_bit, std::uint32_t bits);
  void barrier() { append({.op = Op::barrier}); }
  void cluster_barrier() { append({.op = Op::cluster_barrier}); }
  /// values: one for each threadgroup array from `array` on (see Statement).
  void exchange(std::uint32_t array, std::span<const ValueId> values);

  void branch(ValueId condition, const std::function<void()>& body, const std::function<void()>& otherwise = {});
  /// for i = begin; i < end; i += step; the body receives i (i64).
  void loop(ValueId begin, ValueId end, ValueId step, const std::function<void(ValueId)>& body);

  /// The next statement carries this comment.
  void comment(std::string text) { comment_ = std::move(text); }

 private:
  Statement& append(Statement statement);
  ValueId leaf(Op op, ElementType type);
  ValueId define(Statement statement, ElementType type);
  std::vector<ValueId> define_many(Statement statement, std::span<const ElementType> types);
  ValueId new_values(Op op, std::span<const ElementType> types);
  ValueId arithmetic(Op op, std::vector<ValueId> operands);
  void inside(std::vector<Statement>& block, const std::function<void()>& build);

  std::vector<ElementType>* types_;
  std::vector<std::vector<Statement>*> blocks_;
  std::string comment_;
  std::unordered_map<ValueId, std::int64_t> constants_;  ///< integer constants, for folding
  /// Constants and leaves that the blocks around the current place already define, innermost block last.
  using Leaf = std::tuple<Op, ElementType, std::uint64_t>;
  std::vector<std::map<Leaf, ValueId>> known_{1};
  std::optional<ValueId> known(const Leaf& leaf) const;
};

}  // namespace lanefold::lane
