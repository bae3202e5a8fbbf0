// Kernels of several SIMD groups, drawn at random: barriers in loops and branches, exchanges, arrays of every kind.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/trial.h"
#include "verify/test_jit.h"

namespace lanefold::testing {

/// Draws one kernel over f32 and i32 inputs and inouts. Each thread keeps to its own slots of outputs and threadgroup
/// arrays, and `passed` is read from others only between barriers, so that no draw has a race. A NaN is made canonical
/// before it is stored.
class KernelDraw {
 public:
  static constexpr std::uint32_t kElements = 64;  ///< of each input that are addressed; vectors may reach 4 beyond
  static constexpr std::uint32_t kSlots = 8;      ///< of each thread in each inout
  /// SIMD groups of 4 or 8 lanes, 2 to 4 of them. `numbers` must outlive the draw.
  explicit KernelDraw(Numbers& numbers)
      : numbers_(numbers),
        draft_(4u << numbers.below(2), 2 + numbers.below(3),
               {{f32, Role::input}, {i32, Role::input}, {f32, Role::inout}, {i32, Role::inout}}),
        b_(draft_.builder()) {}

  /// The drawn module of one kernel over buffers f32, i32 (inputs) and f32, i32 (inouts). To be called once.
  lane::Module draw() {
    const lane::Kernel& kernel = draft_.kernel();
    threads_ = kernel.simd_width * kernel.simd_groups;
    draft_.kernel().shared = {{"own", i32, threads_}, {"own_half", f16, threads_}, {"passed", f32, threads_}};
    draft_.kernel().registers = {{"reals", f32, kRegisters},
                                 {"integers", i32, kRegisters},
                                 {"truths", boolean, 2},
                                 {"wides", i64, 2},
                                 {"same", i32, 2}};
    add_functions();
    thread_ = b_.add(b_.mul(b_.simd_group(), b_.i32(static_cast<std::int32_t>(kernel.simd_width))), b_.lane());
    slots_ = b_.mul(verify::global_lane(b_, kernel), b_.i64(kSlots));
    values_[0] = {b_.load(0, f32, input_address())[0], b_.f32(0.75f)};
    values_[1] = {b_.load(1, i32, input_address())[0], thread_, b_.lane(), b_.simd_group()};
    values_[2] = {b_.binary(Op::lt, values_[0][0], b_.f32(0))};
    values_[3] = {b_.convert(b_.lane(), i64), b_.threadgroup()};
    uniform_ = {b_.i32(3), b_.convert(b_.threadgroup(), i32), b_.load(1, i32, b_.threadgroup())[0]};
    for (std::uint32_t i = 0; i < kRegisters; ++i) {
      b_.set(reals, i, pick(0));
      b_.set(integers, i, pick(1));
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      b_.set(truths, i, pick(2));
      b_.set(wides, i, pick(3));
      b_.set(same, i, any(uniform_));
    }
    b_.shared_store(own, thread_, pick(1));
    b_.shared_store(own_half, thread_, pick(0));
    block(Level::threadgroup, kDepth);
    for (std::uint32_t i = 0; i < kRegisters; ++i) {
      store_real(b_.get(reals, i, f32), i);
      store_integer(b_.get(integers, i, i32), i);
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      store_integer(b_.convert(b_.get(truths, i, boolean), i32), 4 + i);
      store_integer(b_.add(b_.convert(b_.get(wides, i, i64), i32), b_.get(same, i, i32)), 6 + i);
      store_real(pick(0), 4 + i);
    }
    store_real(b_.shared_load(own_half, f32, thread_), 6);
    store_real(b_.convert(b_.shared_load(own, i32, thread_), f32), 7);
    return std::move(draft_.module);
  }

 private:
  using Op = lane::Op;
  using Role = lane::Role;
  using ValueId = lane::ValueId;
  using enum ElementType;
  static constexpr std::uint32_t kRegisters = 4, kDepth = 2;
  enum Array : std::uint32_t { reals, integers, truths, wides, same };  ///< of registers; `same` is equal in all lanes
  enum Shared : std::uint32_t { own, own_half, passed };                ///< of each thread its own, or passed round
  /// How much of a threadgroup is together at a place: barriers need all of it, exchanges a SIMD group.
  enum class Level { threadgroup, group, lanes };

  std::uint32_t below(std::uint32_t n) { return numbers_.below(n); }
  ValueId any(const std::vector<ValueId>& from) { return from[below(static_cast<std::uint32_t>(from.size()))]; }
  /// A value of f32, i32, boolean or i64; later ones more often.
  ValueId pick(std::size_t kind) {
    const auto& from = values_[kind];
    const auto size = static_cast<std::uint32_t>(from.size());
    return from[size - 1 - std::min(below(size), below(size))];
  }
  void add(std::size_t kind, ValueId v) { values_[kind].push_back(v); }

  void add_functions() {
    lane::Function sum{"weighted", {f32, f32}, {f32, f32}, {}, {}};
    lane::Builder s(sum.types, sum.body);
    sum.returns = {s.add(s.mul(0, s.f32(0.5f)), 1)};
    lane::Function pair{"pair", {f32, i32, f32, i32}, {f32, i32, f32, i32}, {}, {}};
    lane::Builder p(pair.types, pair.body);
    const ValueId first = p.binary(Op::ge, 0, 2);
    pair.returns = {p.ternary(Op::select, first, 0, 2), p.add(p.mul(1, p.i32(3)), 3)};
    draft_.module.functions = {sum, pair};
  }

  ValueId input_address() {
    return b_.convert(b_.binary(Op::bit_and, b_.add(thread_, b_.i32(5)), b_.i32(kElements - 1)), i64);
  }
  ValueId address(ValueId integer) { return b_.convert(b_.binary(Op::bit_and, integer, b_.i32(kElements - 4)), i64); }
  ValueId clean(ValueId real) { return b_.unary(Op::canonical_nan, real); }
  void store_real(ValueId v, std::uint32_t slot) { b_.store(2, b_.add(slots_, b_.i64(slot)), std::array{clean(v)}); }
  void store_integer(ValueId v, std::uint32_t slot) { b_.store(3, b_.add(slots_, b_.i64(slot)), std::array{v}); }

  void real() {
    constexpr Op kTwo[] = {Op::add, Op::sub, Op::mul, Op::min, Op::max};
    switch (below(8)) {
      case 0: return add(0, b_.ternary(Op::fma, pick(0), pick(0), pick(0)));
      case 1: return add(0, b_.ternary(Op::select, pick(2), pick(0), pick(0)));
      case 2: return add(0, b_.unary(below(2) != 0 ? Op::neg : Op::trunc, pick(0)));
      case 3: return add(0, b_.convert(pick(1), f32));
      case 4: return add(0, b_.call(0, std::array{pick(0), pick(0)}, std::array{f32})[0]);
      default: return add(0, b_.binary(kTwo[below(5)], pick(0), pick(0)));
    }
  }
  ValueId integer_of(const std::function<ValueId()>& from) {
    constexpr Op kTwo[] = {Op::add, Op::sub, Op::mul, Op::min, Op::max, Op::bit_and, Op::bit_or, Op::bit_xor};
    switch (below(6)) {
      case 0:
        return b_.binary(below(2) != 0 ? Op::div : Op::rem, from(), b_.i32(1 + static_cast<std::int32_t>(below(9))));
      case 1:
        return b_.binary(below(2) != 0 ? Op::shift_left : Op::shift_right, from(),
                         b_.i32(static_cast<std::int32_t>(below(32))));
      case 2: return b_.binary(Op::mul, from(), b_.i32(static_cast<std::int32_t>(below(7)) - 3));
      default: return b_.binary(kTwo[below(8)], from(), from());
    }
  }
  void integer() {
    switch (below(5)) {
      case 0: return add(1, b_.convert(pick(below(2) != 0 ? 0 : 2), i32));
      case 1: return add(1, b_.ternary(Op::select, pick(2), pick(1), pick(1)));
      case 2: return add(1, b_.convert(pick(3), i32));
      default: return add(1, integer_of([&] { return pick(1); }));
    }
  }
  void uniform() {
    uniform_.push_back(integer_of([&] { return any(uniform_); }));
  }
  void truth() {
    constexpr Op kCompare[] = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
    constexpr Op kLogic[] = {Op::bit_and, Op::bit_or, Op::bit_xor};
    switch (below(4)) {
      case 0: return add(2, b_.binary(kLogic[below(3)], pick(2), pick(2)));
      case 1: return add(2, b_.unary(Op::bit_not, pick(2)));
      default: break;
    }
    const std::size_t kind = below(2);
    add(2, b_.binary(kCompare[below(6)], pick(kind), pick(kind)));
  }
  void wide() {
    if (below(2) == 0) return add(3, b_.convert(pick(1), i64));
    add(3, b_.binary(below(2) != 0 ? Op::add : Op::bit_xor, pick(3), pick(3)));
  }

  void memory(Level level) {
    const std::uint32_t r = below(kRegisters), two = below(2);
    switch (below(14)) {
      case 0: return add(0, b_.get(reals, r, f32));
      case 1: return b_.set(reals, r, pick(0));
      case 2: return add(1, b_.get(integers, r, i32));
      case 3: return b_.set(integers, r, pick(1));
      case 4: return add(2, b_.get(truths, two, boolean));
      case 5: return b_.set(truths, two, pick(2));
      case 6: return two != 0 ? add(3, b_.get(wides, r % 2, i64)) : b_.set(wides, r % 2, pick(3));
      case 7: return uniform_.push_back(b_.get(same, two, i32));
      case 8: return level == Level::threadgroup ? b_.set(same, two, any(uniform_)) : real();
      case 9:
        return two != 0 ? add(1, b_.shared_load(own, i32, thread_)) : add(0, b_.shared_load(own_half, f32, thread_));
      case 10: return two != 0 ? b_.shared_store(own, thread_, pick(1)) : b_.shared_store(own_half, thread_, pick(0));
      case 11: return two != 0 ? store_real(pick(0), below(kSlots)) : store_integer(pick(1), below(kSlots));
      case 12: return add(0, b_.load(2, f32, b_.add(slots_, b_.i64(below(kSlots))))[0]);
      default: break;
    }
    for (const ValueId v :
         b_.load(two, two == 0 ? f32 : i32, address(below(3) == 0 ? any(uniform_) : pick(1)), 1u << below(3)))
      add(two, v);
  }

  void exchange() {
    const std::uint32_t kind = below(2), width = draft_.kernel().simd_width;
    const auto bits = static_cast<std::uint32_t>(std::countr_zero(width));
    switch (below(5)) {
      case 0: return add(kind, b_.shuffle_xor(pick(kind), 1 + below(width - 1)));
      case 1: return add(kind, b_.shuffle_down(pick(kind), 1 + below(width - 1)));
      case 2: return add(kind, b_.shuffle(pick(kind), below(2) != 0 ? any(uniform_) : pick(1)));
      default: break;
    }
    const std::uint32_t first = below(bits), count = below(3) == 0 ? bits : 1 + below(bits - first);
    const std::uint32_t begin = count == bits ? 0 : first, registers = 1u << below(count + 1);
    std::vector<ValueId> operands;
    for (std::uint32_t i = 0; i < registers; ++i) {
      operands.push_back(pick(0));
      if (kind == 1) operands.push_back(pick(1));
    }
    const auto folded = b_.fold_lanes(kind, operands, 1 + kind, begin, count);
    for (std::size_t i = 0; i < folded.size(); ++i) add(kind == 0 ? 0 : i % 2, folded[i]);
  }

  /// Every thread reads what another one has put there.
  void pass_round() {
    b_.shared_store(passed, thread_, pick(0));
    b_.barrier();
    const ValueId from = b_.binary(Op::rem, b_.add(thread_, b_.i32(static_cast<std::int32_t>(1 + below(threads_ - 1)))),
                                   b_.i32(static_cast<std::int32_t>(threads_)));
    add(0, b_.shared_load(passed, f32, below(3) == 0 ? b_.i32(static_cast<std::int32_t>(below(threads_))) : from));
    b_.barrier();
  }

  void branch(Level level, std::uint32_t depth) {
    const std::uint32_t how = below(3);
    const auto bit = [&](ValueId v) {
      return b_.binary(Op::ne, b_.binary(Op::bit_and, v, b_.i32(1 << below(3))), b_.i32(0));
    };
    const ValueId condition = how == 0 ? bit(any(uniform_)) : how == 1 ? bit(b_.simd_group()) : pick(2);
    const Level inner = std::max(level, static_cast<Level>(how));
    const auto inside = [&] { block(inner, depth - 1); };
    b_.branch(condition, inside, below(2) != 0 ? std::function<void()>(inside) : nullptr);
  }
  void loop(Level level, std::uint32_t depth) {
    const auto small = [&](std::int32_t mask) {
      return b_.convert(b_.binary(Op::bit_and, any(uniform_), b_.i32(mask)), i64);
    };
    b_.loop(below(2) != 0 ? b_.i64(0) : small(1), below(2) != 0 ? b_.i64(1 + below(3)) : small(3), b_.i64(1 + below(2)),
            [&](ValueId i) { block(level, depth - 1, i); });
  }

  /// Statements at random; what they define goes out of scope where the block ends.
  void block(Level level, std::uint32_t depth, std::optional<ValueId> counter = {}) {
    const auto values = values_;
    const auto uniforms = uniform_;
    if (counter) {
      add(3, *counter);
      uniform_.push_back(b_.convert(*counter, i32));
    }
    for (std::uint32_t left = 3 + below(5); left > 0; --left) {
      switch (below(12)) {
        case 0: real(); break;
        case 1: integer(); break;
        case 2: truth(); break;
        case 3: below(2) != 0 ? wide() : uniform(); break;
        case 4: level == Level::threadgroup ? pass_round() : real(); break;
        case 5: level == Level::threadgroup ? b_.barrier() : truth(); break;
        case 6: level == Level::lanes ? integer() : exchange(); break;
        case 7: depth > 0 ? branch(level, depth) : memory(level); break;
        case 8: depth > 0 ? loop(level, depth) : memory(level); break;
        default: memory(level); break;
      }
    }
    if (depth == kDepth) return;
    values_ = values;
    uniform_ = uniforms;
  }

  Numbers& numbers_;
  verify::KernelDraft draft_;
  lane::Builder b_;
  std::uint32_t threads_ = 0;
  ValueId thread_ = 0, slots_ = 0;
  std::array<std::vector<ValueId>, 4> values_;  ///< in scope, by kind
  std::vector<ValueId> uniform_;                ///< i32, equal in all lanes
};

}  // namespace lanefold::testing
