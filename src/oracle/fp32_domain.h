// Exact binary32: every operation is one IEEE operation, elementary functions are their tables.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/load_store.h"
#include "oracle/numeric_domain.h"

namespace lanefold::oracle {

/// Runs the tables of portable functions on up to 64 values at a time.
class PortableBatch {
 public:
  static constexpr std::int64_t kSize = 64;
  using Value = std::array<std::uint32_t, kSize>;

  explicit PortableBatch(std::int64_t count) : count_(count) {}

  Value constant_f32(std::uint32_t bits) const { return constant_i32(bits); }
  Value constant_i32(std::uint32_t bits) const;
  Value apply(math::StepOp op, const Value& a, const Value& b, const Value& c) const;

 private:
  std::int64_t count_;
};

/// Every value is 32 bits: an f32's, or an i32's.
struct Fp32Codec {
  using Value = std::uint32_t;
  using Real = float;

  static float real(std::uint32_t value) { return std::bit_cast<float>(value); }
  static std::uint32_t from_real(float value) { return std::bit_cast<std::uint32_t>(value); }
  static std::int32_t integer(std::uint32_t value) { return static_cast<std::int32_t>(value); }
  static std::uint32_t from_integer(std::int32_t value) { return static_cast<std::uint32_t>(value); }
  static float load_real(const std::byte* address, ElementType storage) { return load_element_f32(address, storage); }
  static void function(math::Function function, const Lanes<std::uint32_t>& operand, std::int64_t count,
                       std::uint32_t* out);
};

using Fp32Domain = NumericDomain<Fp32Codec>;

}  // namespace lanefold::oracle
