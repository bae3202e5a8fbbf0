#include "oracle/fp32_domain.h"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"

namespace lanefold::oracle {

namespace {

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t as_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
std::int32_t as_int(std::uint32_t bits) { return static_cast<std::int32_t>(bits); }

}  // namespace

PortableBatch::Value PortableBatch::constant_i32(std::uint32_t bits) const {
  Value value{};
  std::fill_n(value.begin(), count_, bits);
  return value;
}

PortableBatch::Value PortableBatch::apply(math::StepOp op, const Value& a, const Value& b, const Value& c) const {
  Value out{};
  auto each = [&](auto f) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) out[i] = f(a[i], b[i], c[i]);
    return out;
  };
  auto real = [&](auto f) {
    return each([f](std::uint32_t x, std::uint32_t y, std::uint32_t) { return as_bits(f(as_float(x), as_float(y))); });
  };
  auto compare = [&](auto f) {
    return each([f](std::uint32_t x, std::uint32_t y, std::uint32_t) -> std::uint32_t {
      return f(as_float(x), as_float(y)) ? 1 : 0;
    });
  };
  auto bits = [&](auto f) {
    return each([f](std::uint32_t x, std::uint32_t y, std::uint32_t) -> std::uint32_t { return f(x, y); });
  };
  using math::StepOp;
  using U = std::uint32_t;
  switch (op) {
    case StepOp::constant_f32:
    case StepOp::constant_i32: break;
    case StepOp::add: return real([](float x, float y) { return x + y; });
    case StepOp::sub: return real([](float x, float y) { return x - y; });
    case StepOp::mul: return real([](float x, float y) { return x * y; });
    case StepOp::div: return real([](float x, float y) { return x / y; });
    case StepOp::fma:
      return each([](U x, U y, U z) { return as_bits(std::fma(as_float(x), as_float(y), as_float(z))); });
    case StepOp::neg: return real([](float x, float) { return -x; });
    case StepOp::abs: return real([](float x, float) { return std::fabs(x); });
    case StepOp::sqrt: return real([](float x, float) { return std::sqrt(x); });
    case StepOp::trunc: return real([](float x, float) { return std::trunc(x); });
    case StepOp::lt: return compare([](float x, float y) { return x < y; });
    case StepOp::le: return compare([](float x, float y) { return x <= y; });
    case StepOp::gt: return compare([](float x, float y) { return x > y; });
    case StepOp::ge: return compare([](float x, float y) { return x >= y; });
    case StepOp::eq: return compare([](float x, float y) { return x == y; });
    case StepOp::ne: return compare([](float x, float y) { return x != y; });
    case StepOp::select: return each([](U x, U y, U z) { return x != 0 ? y : z; });
    case StepOp::iadd: return bits([](U x, U y) { return x + y; });
    case StepOp::isub: return bits([](U x, U y) { return x - y; });
    case StepOp::imul: return bits([](U x, U y) { return x * y; });
    case StepOp::iand: return bits([](U x, U y) { return x & y; });
    case StepOp::ior: return bits([](U x, U y) { return x | y; });
    case StepOp::ixor: return bits([](U x, U y) { return x ^ y; });
    case StepOp::ishl: return bits([](U x, U y) { return x << (y & 31); });
    case StepOp::ishr: return bits([](U x, U y) { return static_cast<U>(as_int(x) >> (y & 31)); });
    case StepOp::ilt: return bits([](U x, U y) { return U{as_int(x) < as_int(y)}; });
    case StepOp::igt: return bits([](U x, U y) { return U{as_int(x) > as_int(y)}; });
    case StepOp::ieq: return bits([](U x, U y) { return U{x == y}; });
    case StepOp::to_i32: return bits([](U x, U) { return static_cast<U>(truncate_to_i32(as_float(x))); });
    case StepOp::to_f32: return bits([](U x, U) { return as_bits(static_cast<float>(as_int(x))); });
    case StepOp::bits_of:
    case StepOp::from_bits: return a;
  }
  internal_error("oracle: a portable function has an unknown step");
}

void Fp32Codec::function(math::Function function, const Lanes<std::uint32_t>& operand, std::int64_t count,
                         std::uint32_t* out) {
  for (std::int64_t begin = 0; begin < count; begin += PortableBatch::kSize) {
    const std::int64_t size = std::min(PortableBatch::kSize, count - begin);
    PortableBatch batch(size);
    PortableBatch::Value argument{};
    for (std::int64_t i = 0; i < size; ++i) argument[static_cast<std::size_t>(i)] = operand[begin + i];
    const PortableBatch::Value result = math::evaluate(function, batch, argument);
    std::copy_n(result.begin(), size, out + begin);
  }
}

}  // namespace lanefold::oracle
