#include "machine/arithmetic.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/narrow.h"

namespace lanefold::machine {
namespace {

using lane::Op;

template <class T, class F>
void map1(const LaneOperands& v, F f) {
  each_lane(v.mask, v.width, [&](std::uint32_t i) { v.out[i] = to_word(f(from_word<T>(v.a[i]))); });
}

template <class T, class F>
void map2(const LaneOperands& v, F f) {
  each_lane(v.mask, v.width,
            [&](std::uint32_t i) { v.out[i] = to_word(f(from_word<T>(v.a[i]), from_word<T>(v.b[i]))); });
}

/// A two-operand operation that is defined only where `allowed(b)` holds.
template <class T, class Allowed, class F>
LaneMask partial2(const LaneOperands& v, Allowed allowed, F f) {
  LaneMask bad = 0;
  each_lane(v.mask, v.width, [&](std::uint32_t i) {
    const T b = from_word<T>(v.b[i]);
    if (allowed(b)) {
      v.out[i] = to_word(f(from_word<T>(v.a[i]), b));
    } else {
      v.out[i] = 0;
      bad |= LaneMask{1} << i;
    }
  });
  return bad;
}

/// IEEE 754-2019 minimum and maximum: a NaN wins, and −0 is below +0.
float minimum(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

float maximum(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

template <class T>
bool compare(Op op, const LaneOperands& v) {
  switch (op) {
    case Op::eq: map2<T>(v, [](T a, T b) { return a == b; }); return true;
    case Op::ne: map2<T>(v, [](T a, T b) { return a != b; }); return true;
    case Op::lt: map2<T>(v, [](T a, T b) { return a < b; }); return true;
    case Op::le: map2<T>(v, [](T a, T b) { return a <= b; }); return true;
    case Op::gt: map2<T>(v, [](T a, T b) { return a > b; }); return true;
    case Op::ge: map2<T>(v, [](T a, T b) { return a >= b; }); return true;
    default: return false;
  }
}

[[noreturn]] void no_such_operation(Op op, ElementType type) {
  internal_error("machine: " + std::string(op_name(op)) + " on " + std::string(element_name(type)));
}

void compute_f32(Op op, const LaneOperands& v) {
  constexpr std::uint32_t kSign = 0x80000000u;
  if (compare<float>(op, v)) return;
  switch (op) {
    case Op::neg: return map1<std::uint32_t>(v, [](std::uint32_t a) { return a ^ kSign; });
    case Op::abs: return map1<std::uint32_t>(v, [](std::uint32_t a) { return a & ~kSign; });
    case Op::sqrt: return map1<float>(v, [](float a) { return std::sqrt(a); });
    case Op::trunc: return map1<float>(v, [](float a) { return std::trunc(a); });
    case Op::canonical_nan: return map1<float>(v, [](float a) { return canonical_nan(a); });
    case Op::add: return map2<float>(v, [](float a, float b) { return a + b; });
    case Op::sub: return map2<float>(v, [](float a, float b) { return a - b; });
    case Op::mul: return map2<float>(v, [](float a, float b) { return a * b; });
    case Op::div: return map2<float>(v, [](float a, float b) { return a / b; });
    case Op::min: return map2<float>(v, minimum);
    case Op::max: return map2<float>(v, maximum);
    case Op::fma:
      return each_lane(v.mask, v.width, [&](std::uint32_t i) {
        v.out[i] = to_word(std::fma(from_word<float>(v.a[i]), from_word<float>(v.b[i]), from_word<float>(v.c[i])));
      });
    default: no_such_operation(op, ElementType::f32);
  }
}

template <class T>
LaneMask compute_integer(Op op, ElementType type, const LaneOperands& v) {
  using U = std::make_unsigned_t<T>;
  constexpr T kBits = std::numeric_limits<U>::digits;
  const auto positive = [](T b) { return b > 0; };
  const auto below_width = [](T b) { return b >= 0 && b < kBits; };
  if (compare<T>(op, v)) return 0;
  switch (op) {
    // Sums and products wrap, so they are computed unsigned.
    case Op::neg: map1<U>(v, [](U a) { return U{0} - a; }); return 0;
    case Op::bit_not: map1<U>(v, [](U a) { return static_cast<U>(~a); }); return 0;
    case Op::add: map2<U>(v, [](U a, U b) { return a + b; }); return 0;
    case Op::sub: map2<U>(v, [](U a, U b) { return a - b; }); return 0;
    case Op::mul: map2<U>(v, [](U a, U b) { return a * b; }); return 0;
    case Op::div: return partial2<T>(v, positive, [](T a, T b) { return a / b; });
    case Op::rem: return partial2<T>(v, positive, [](T a, T b) { return a % b; });
    case Op::min: map2<T>(v, [](T a, T b) { return a < b ? a : b; }); return 0;
    case Op::max: map2<T>(v, [](T a, T b) { return a < b ? b : a; }); return 0;
    case Op::bit_and: map2<U>(v, [](U a, U b) { return a & b; }); return 0;
    case Op::bit_or: map2<U>(v, [](U a, U b) { return a | b; }); return 0;
    case Op::bit_xor: map2<U>(v, [](U a, U b) { return a ^ b; }); return 0;
    case Op::shift_left:
      return partial2<T>(v, below_width, [](T a, T b) { return static_cast<T>(static_cast<U>(a) << b); });
    case Op::shift_right: return partial2<T>(v, below_width, [](T a, T b) { return static_cast<T>(a >> b); });
    default: no_such_operation(op, type);
  }
}

void compute_boolean(Op op, const LaneOperands& v) {
  switch (op) {
    case Op::bit_not: return map1<Word>(v, [](Word a) { return a ^ 1; });
    case Op::bit_and: return map2<Word>(v, [](Word a, Word b) { return a & b; });
    case Op::bit_or: return map2<Word>(v, [](Word a, Word b) { return a | b; });
    case Op::bit_xor: return map2<Word>(v, [](Word a, Word b) { return a ^ b; });
    default: no_such_operation(op, ElementType::boolean);
  }
}

std::int32_t saturate(float value) {
  if (value != value) return 0;
  if (value >= 0x1p31f) return std::numeric_limits<std::int32_t>::max();
  if (value < -0x1p31f) return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int32_t>(value);
}

}  // namespace

LaneMask compute(Op op, ElementType type, const LaneOperands& v) {
  if (op == Op::select) {
    each_lane(v.mask, v.width, [&](std::uint32_t i) { v.out[i] = v.a[i] != 0 ? v.b[i] : v.c[i]; });
    return 0;
  }
  switch (type) {
    case ElementType::f32: return compute_f32(op, v), 0;
    case ElementType::i32: return compute_integer<std::int32_t>(op, type, v);
    case ElementType::i64: return compute_integer<std::int64_t>(op, type, v);
    case ElementType::boolean: return compute_boolean(op, v), 0;
    default: no_such_operation(op, type);
  }
}

void convert(ElementType from, ElementType to, const LaneOperands& v) {
  if (from == ElementType::f32 && to == ElementType::i32) return map1<float>(v, saturate);
  if (from == ElementType::i32 && to == ElementType::f32) {
    return map1<std::int32_t>(v, [](std::int32_t a) { return static_cast<float>(a); });
  }
  if (from == ElementType::i64 && to == ElementType::f32) {
    return map1<std::int64_t>(v, [](std::int64_t a) { return static_cast<float>(a); });
  }
  if (from == ElementType::i32 && to == ElementType::i64) {
    return map1<std::int32_t>(v, [](std::int32_t a) { return static_cast<std::int64_t>(a); });
  }
  if (from == ElementType::i64 && to == ElementType::i32) {
    return map1<std::int64_t>(v, [](std::int64_t a) { return static_cast<std::int32_t>(a); });
  }
  if (from == ElementType::boolean && to == ElementType::i32) return map1<Word>(v, [](Word a) { return a; });
  internal_error("machine: no conversion from " + std::string(element_name(from)) + " to " +
                 std::string(element_name(to)));
}

}  // namespace lanefold::machine
