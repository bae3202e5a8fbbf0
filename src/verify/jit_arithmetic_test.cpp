// Every arithmetic operation of lane modules on special values: the JIT's bits are the lane machine's.
#if LANEFOLD_JIT  // these compare the JIT with the lane machine

#include <array>
#include <functional>
#include <limits>

#include "verify/test_jit.h"

namespace lanefold::verify {
namespace {

using lane::Builder;
using lane::Op;
using lane::Role;
using lane::ValueId;

constexpr std::uint32_t kWidth = 8;

std::vector<std::uint32_t> special_f32() {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t magnitude :
       {0u,          1u,          0x007fffffu, 0x00800000u, 0x33800000u, 0x3effffffu, 0x3f000000u,
        0x3f800000u, 0x3f800001u, 0x3fc00000u, 0x40490fdbu, 0x4b000001u, 0x4effffffu, 0x4f000000u,
        0x5f000000u, 0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fc00000u, 0x7fe12345u}) {
    all.push_back(magnitude);
    all.push_back(magnitude | 0x80000000u);
  }
  return all;
}

template <class T>
std::vector<T> special_integers() {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  return {0,
          1,
          -1,
          2,
          -2,
          3,
          7,
          -7,
          31,
          63,
          100,
          16777217,
          -16777217,
          kMax,
          kMin,
          static_cast<T>(kMax - 1),
          static_cast<T>(kMin + 1)};
}

/// All pairs, or triples where `third`, of the specials as operand columns, with copies of the first to a whole number of SIMD groups.
template <class T>
std::array<std::vector<T>, 3> combinations(const std::vector<T>& special, const std::vector<T>& third) {
  std::array<std::vector<T>, 3> columns;
  for (const T c : third)
    for (const T a : special)
      for (const T b : special) {
        columns[0].push_back(a);
        columns[1].push_back(b);
        columns[2].push_back(c);
      }
  while (columns[0].size() % kWidth != 0)
    for (auto& column : columns) column.push_back(column.front());
  return columns;
}

/// How the operands come to the operation: a vector of lanes, a masked vector, or one scalar for all lanes.
enum class Form { vector, masked, scalar };

struct Operation {
  std::string name;
  std::function<ValueId(Builder&, ValueId, ValueId, ValueId)> build;
  /// Which NaN an operation makes is not defined, so that its f32 result is compared as one NaN.
  bool exact = false;
};

/// Runs every operation over all combinations, each one into its own part of the output.
template <class T>
void compare(ElementType type, ElementType result, const std::vector<Operation>& operations,
             const std::array<std::vector<T>, 3>& columns, Form form) {
  const auto count = static_cast<std::int64_t>(columns[0].size());
  for (const Operation& operation : operations) {
    SCOPED_TRACE(operation.name);
    KernelDraft draft(kWidth, 1,
                      {{type, Role::input}, {type, Role::input}, {type, Role::input}, {result, Role::output}});
    Builder b = draft.builder();
    const ValueId at = form == Form::scalar ? b.threadgroup() : global_lane(b, draft.kernel());
    const auto body = [&] {
      const ValueId x = b.load(0, type, at)[0], y = b.load(1, type, at)[0], z = b.load(2, type, at)[0];
      ValueId value = operation.build(b, x, y, z);
      if (b.type(value) == ElementType::boolean && result != ElementType::boolean)
        value = b.convert(value, ElementType::i32);
      if (b.type(value) == ElementType::f32 && !operation.exact) value = b.unary(Op::canonical_nan, value);
      b.store(3, at, std::array{value});
    };
    // The last lanes stay outside.
    if (form == Form::masked)
      b.branch(b.binary(Op::lt, at, b.i64(count - 3)), body);
    else
      body();
    const std::vector<std::byte> out(columns[0].size() * element_bytes(result), std::byte{0x5a});
    run_everywhere(draft.module, {bytes_of(columns[0]), bytes_of(columns[1]), bytes_of(columns[2]), out},
                   form == Form::scalar ? count : count / kWidth);
  }
}

Operation unary(Op op, bool exact = false) {
  return {std::string(op_name(op)), [op](Builder& b, ValueId x, ValueId, ValueId) { return b.unary(op, x); }, exact};
}
Operation binary(Op op) {
  return {std::string(op_name(op)), [op](Builder& b, ValueId x, ValueId y, ValueId) { return b.binary(op, x, y); }};
}

class JitArithmetic : public ::testing::TestWithParam<Form> {};

TEST_P(JitArithmetic, Floats) {
  const auto special = special_f32();
  std::vector<Operation> all = {unary(Op::neg, true), unary(Op::abs, true), unary(Op::sqrt), unary(Op::trunc),
                                unary(Op::canonical_nan)};
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max}) all.push_back(binary(op));
  all.push_back(
      {"select",
       [](Builder& b, ValueId x, ValueId y, ValueId) { return b.ternary(Op::select, b.binary(Op::lt, x, y), x, y); },
       true});
  compare(ElementType::f32, ElementType::f32, all, combinations(special, {0u}), GetParam());
}

TEST_P(JitArithmetic, FloatsToIntegers) {
  std::vector<Operation> all = {
      {"convert", [](Builder& b, ValueId x, ValueId, ValueId) { return b.convert(x, ElementType::i32); }},
      {"bitcast", [](Builder& b, ValueId x, ValueId, ValueId) { return b.bitcast(x, ElementType::i32); }}};
  for (const Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge}) all.push_back(binary(op));
  compare(ElementType::f32, ElementType::i32, all, combinations(special_f32(), {0u}), GetParam());
}

TEST_P(JitArithmetic, FusedMultiplyAddRoundsOnce) {
  const std::vector<std::uint32_t> third = {0u,          0x80000000u, 1u,          0xbf800002u, 0xbf800001u,
                                            0x7f7fffffu, 0xff800000u, 0x7fc00000u, 0x80800000u, 0xb3800000u};
  compare(ElementType::f32, ElementType::f32,
          {{"fma", [](Builder& b, ValueId x, ValueId y, ValueId z) { return b.ternary(Op::fma, x, y, z); }},
           {"mul add", [](Builder& b, ValueId x, ValueId y, ValueId z) { return b.add(b.mul(x, y), z); }}},
          combinations(special_f32(), third), GetParam());
}

/// Divisors and shift counts are brought into their range first.
template <class T>
std::vector<Operation> integer_operations(ElementType type) {
  const auto number = [type](Builder& b, std::int64_t n) {
    return type == ElementType::i32 ? b.i32(static_cast<std::int32_t>(n)) : b.i64(n);
  };
  std::vector<Operation> all = {unary(Op::neg), unary(Op::bit_not)};
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::min, Op::max, Op::bit_and, Op::bit_or, Op::bit_xor})
    all.push_back(binary(op));
  for (const Op op : {Op::div, Op::rem})
    all.push_back({std::string(op_name(op)), [op, number](Builder& b, ValueId x, ValueId y, ValueId) {
                     return b.binary(op, x, b.binary(Op::max, y, number(b, 1)));
                   }});
  for (const Op op : {Op::shift_left, Op::shift_right})
    all.push_back({std::string(op_name(op)), [op, number](Builder& b, ValueId x, ValueId y, ValueId) {
                     return b.binary(op, x, b.binary(Op::bit_and, y, number(b, std::numeric_limits<T>::digits)));
                   }});
  all.push_back({"divide by a constant",
                 [number](Builder& b, ValueId x, ValueId, ValueId) { return b.binary(Op::div, x, number(b, 7)); }});
  all.push_back({"select", [](Builder& b, ValueId x, ValueId y, ValueId) {
                   return b.ternary(Op::select, b.binary(Op::gt, x, y), x, y);
                 }});
  return all;
}

template <class T>
std::vector<Operation> integer_comparisons() {
  std::vector<Operation> all;
  for (const Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge}) all.push_back(binary(op));
  for (const Op op : {Op::bit_and, Op::bit_or, Op::bit_xor})
    all.push_back({std::string(op_name(op)) + " of booleans", [op](Builder& b, ValueId x, ValueId y, ValueId) {
                     return b.binary(op, b.binary(Op::lt, x, y), b.binary(Op::ne, x, y));
                   }});
  all.push_back({"bit_not of a boolean", [](Builder& b, ValueId x, ValueId y, ValueId) {
                   return b.unary(Op::bit_not, b.binary(Op::lt, x, y));
                 }});
  all.push_back({"select of booleans", [](Builder& b, ValueId x, ValueId y, ValueId) {
                   return b.ternary(Op::select, b.binary(Op::lt, x, y), b.binary(Op::ge, x, y), b.binary(Op::ne, x, y));
                 }});
  return all;
}

TEST_P(JitArithmetic, Integers32) {
  const auto columns = combinations(special_integers<std::int32_t>(), {0});
  compare(ElementType::i32, ElementType::i32, integer_operations<std::int32_t>(ElementType::i32), columns, GetParam());
  compare(ElementType::i32, ElementType::i32, integer_comparisons<std::int32_t>(), columns, GetParam());
  compare(ElementType::i32, ElementType::f32,
          {{"convert", [](Builder& b, ValueId x, ValueId, ValueId) { return b.convert(x, ElementType::f32); }},
           {"bitcast", [](Builder& b, ValueId x, ValueId, ValueId) { return b.bitcast(x, ElementType::f32); }, true}},
          columns, GetParam());
  compare(ElementType::i32, ElementType::i64,
          {{"convert", [](Builder& b, ValueId x, ValueId, ValueId) { return b.convert(x, ElementType::i64); }}},
          columns, GetParam());
}

TEST_P(JitArithmetic, Integers64) {
  auto special = special_integers<std::int64_t>();
  for (const std::int64_t more : {std::int64_t{1} << 24, (std::int64_t{1} << 40) + 1, std::int64_t{0x7fffff8000000001}})
    special.push_back(more);
  const auto columns = combinations(special, {0});
  compare(ElementType::i64, ElementType::i64, integer_operations<std::int64_t>(ElementType::i64), columns, GetParam());
  compare(ElementType::i64, ElementType::i32, integer_comparisons<std::int64_t>(), columns, GetParam());
  compare(ElementType::i64, ElementType::f32,
          {{"convert", [](Builder& b, ValueId x, ValueId, ValueId) { return b.convert(x, ElementType::f32); }}},
          columns, GetParam());
  compare(ElementType::i64, ElementType::i32,
          {{"convert", [](Builder& b, ValueId x, ValueId, ValueId) { return b.convert(x, ElementType::i32); }}},
          columns, GetParam());
}

TEST_P(JitArithmetic, DivisionsOfInactiveLanesDoNotTrap) {
  const auto columns = combinations(special_integers<std::int32_t>(), {0});
  KernelDraft draft(
      kWidth, 1, {{ElementType::i32, Role::input}, {ElementType::i32, Role::input}, {ElementType::i32, Role::output}});
  Builder b = draft.builder();
  const ValueId at = GetParam() == Form::scalar ? b.threadgroup() : global_lane(b, draft.kernel());
  const ValueId x = b.load(0, ElementType::i32, at)[0], y = b.load(1, ElementType::i32, at)[0];
  ValueId allowed = b.binary(Op::gt, y, b.i32(0));
  // A mask of lanes around a divisor that they share.
  if (GetParam() == Form::scalar) allowed = b.binary(Op::bit_and, allowed, b.binary(Op::lt, b.lane(), b.i32(3)));
  b.branch(allowed, [&] { b.store(2, at, std::array{b.add(b.binary(Op::div, x, y), b.binary(Op::rem, x, y))}); });
  const auto count = static_cast<std::int64_t>(columns[0].size());
  run_everywhere(draft.module,
                 {bytes_of(columns[0]), bytes_of(columns[1]), std::vector<std::byte>(columns[0].size() * 4)},
                 GetParam() == Form::scalar ? count : count / kWidth);
}

INSTANTIATE_TEST_SUITE_P(Forms, JitArithmetic, ::testing::Values(Form::vector, Form::masked, Form::scalar),
                         [](const auto& form) {
                           return form.param == Form::vector   ? "Vector"
                                  : form.param == Form::masked ? "Masked"
                                                               : "Scalar";
                         });

}  // namespace
}  // namespace lanefold::verify

#endif
