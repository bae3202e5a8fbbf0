#include "base/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace lanefold {
namespace {

/// A small float format as its standard words it, for a reference that shares nothing with narrow.cpp.
struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  bool infinities;  ///< the format has infinities
  bool saturates;   ///< narrowing gives the largest number instead of an infinity
  std::uint32_t nan;
  std::function<float(std::uint32_t)> widen;
  std::function<std::uint32_t(float)> narrow;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t patterns() const { return 2u << (exponent_bits + mantissa_bits); }
  std::uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }

  /// What `magnitude` (no sign) would mean were every exponent an ordinary one.
  double plain_value(std::uint32_t magnitude) const {
    const int exponent = static_cast<int>(magnitude >> mantissa_bits);
    const double fraction = std::ldexp(magnitude & ((1u << mantissa_bits) - 1), -mantissa_bits);
    return exponent == 0 ? std::ldexp(fraction, 1 - bias()) : std::ldexp(1 + fraction, exponent - bias());
  }
  /// The first magnitude that is no finite number.
  std::uint32_t finite_end() const {
    return infinities ? ((1u << exponent_bits) - 1) << mantissa_bits : sign_bit() - 1;
  }
  double value(std::uint32_t bits) const {
    const std::uint32_t magnitude = bits & (sign_bit() - 1);
    double result = plain_value(magnitude);
    if (magnitude >= finite_end()) {
      const bool infinity = infinities && magnitude == finite_end();
      result = infinity ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    return bits & sign_bit() ? -result : result;
  }
};

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {"f16", 5, 10, true, false, kNanF16, [](std::uint32_t b) { return widen_f16(static_cast<std::uint16_t>(b)); },
       [](float f) { return std::uint32_t{narrow_f16(f)}; }},
      {"bf16", 8, 7, true, false, kNanBf16, [](std::uint32_t b) { return widen_bf16(static_cast<std::uint16_t>(b)); },
       [](float f) { return std::uint32_t{narrow_bf16(f)}; }},
      {"e4m3", 4, 3, false, true, kNanFp8, [](std::uint32_t b) { return widen_e4m3(static_cast<std::uint8_t>(b)); },
       [](float f) { return std::uint32_t{narrow_e4m3(f)}; }},
      {"e5m2", 5, 2, true, true, kNanFp8, [](std::uint32_t b) { return widen_e5m2(static_cast<std::uint8_t>(b)); },
       [](float f) { return std::uint32_t{narrow_e5m2(f)}; }},
  };
  return all;
}

/// The nearest number by search over all numbers of the format, in doubles, which hold every candidate and tie exactly.
class Reference {
 public:
  explicit Reference(const Format& format) : format_(format) {
    for (std::uint32_t m = 0; m < format.finite_end(); ++m) values_.push_back(format.value(m));
    // The number that would follow decides where overflow begins.
    values_.push_back(format.plain_value(format.finite_end()));
  }

  std::uint32_t narrow(float value) const {
    if (std::isnan(value)) return format_.nan;
    const std::uint32_t sign = std::signbit(value) ? format_.sign_bit() : 0;
    const double magnitude = std::fabs(static_cast<double>(value));
    const std::uint32_t overflow = format_.saturates ? format_.finite_end() - 1 : format_.finite_end();
    if (magnitude >= values_.back()) return sign | overflow;
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    const auto high = static_cast<std::uint32_t>(above - values_.begin());
    const std::uint32_t low = high - 1;
    const double to_low = magnitude - values_[low];
    const double to_high = values_[high] - magnitude;
    const bool up = to_high < to_low || (to_high == to_low && low % 2 == 1);
    const std::uint32_t result = up ? high : low;
    return sign | (result == format_.finite_end() ? overflow : result);
  }

  const std::vector<double>& values() const { return values_; }

 private:
  const Format& format_;
  std::vector<double> values_;
};

TEST(Narrow, EveryPatternWidensExactlyAndComesBack) {
  for (const Format& f : formats()) {
    for (std::uint32_t bits = 0; bits < f.patterns(); ++bits) {
      const float wide = f.widen(bits);
      const double expected = f.value(bits);
      if (std::isnan(expected)) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide), kNanF32) << f.name << " " << bits;
        ASSERT_EQ(f.narrow(wide), f.nan) << f.name << " " << bits;
        continue;
      }
      ASSERT_EQ(static_cast<double>(wide), expected) << f.name << " " << bits;
      ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << f.name << " " << bits;
      const bool saturated = std::isinf(expected) && f.saturates;
      ASSERT_EQ(f.narrow(wide), saturated ? bits - 1 : bits) << f.name << " " << bits;
    }
  }
}

TEST(Narrow, KnownValues) {
  EXPECT_EQ(widen_f16(0x7bff), 65504.0f);
  EXPECT_EQ(widen_f16(0x0001), 0x1p-24f);
  EXPECT_EQ(widen_bf16(0x3f80), 1.0f);
  EXPECT_EQ(widen_bf16(0x0001), 0x1p-133f);
  EXPECT_EQ(widen_e4m3(0x7e), 448.0f);
  EXPECT_EQ(widen_e4m3(0x01), 0x1p-9f);
  EXPECT_EQ(widen_e5m2(0x7b), 57344.0f);
  EXPECT_EQ(widen_e5m2(0x01), 0x1p-16f);
  EXPECT_EQ(narrow_f16(65519.0f), 0x7bff);
  EXPECT_EQ(narrow_f16(65520.0f), 0x7c00);
  EXPECT_EQ(narrow_f16(-1e9f), 0xfc00);
  EXPECT_EQ(narrow_f16(0x1p-25f), 0x0000);  // half of the smallest: the tie goes to zero
  EXPECT_EQ(narrow_f16(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(narrow_f16(-0.0f), 0x8000);
  EXPECT_EQ(narrow_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(narrow_bf16(0x1p-133f), 0x0001);
  EXPECT_EQ(narrow_e4m3(1e9f), 0x7e);
  EXPECT_EQ(narrow_e4m3(-std::numeric_limits<float>::infinity()), 0xfe);
  EXPECT_EQ(narrow_e4m3(464.0f), 0x7e);
  EXPECT_EQ(narrow_e5m2(std::numeric_limits<float>::infinity()), 0x7b);
  EXPECT_EQ(narrow_e5m2(-61440.0f), 0xfb);
}

TEST(Narrow, TiesAndTheirNeighboursMatchTheReference) {
  for (const Format& f : formats()) {
    const Reference reference(f);
    const std::vector<double>& values = reference.values();
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const double middle = (values[i] + values[i + 1]) / 2;
      const float tie = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(tie), middle);
      const float infinity = std::numeric_limits<float>::infinity();
      for (const float value : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, infinity)}) {
        ASSERT_EQ(f.narrow(value), reference.narrow(value)) << f.name << " " << value;
        ASSERT_EQ(f.narrow(-value), reference.narrow(-value)) << f.name << " " << -value;
      }
    }
  }
}

TEST(Narrow, RandomPatternsMatchTheReference) {
  std::mt19937 random(20240501);
  for (const Format& f : formats()) {
    const Reference reference(f);
    for (int i = 0; i < 200000; ++i) {
      // Every f32 pattern: subnormals, infinities and NaN payloads are among them.
      const float any = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      ASSERT_EQ(f.narrow(any), reference.narrow(any)) << f.name << " " << any;
      // And values within the format's own range, where any pattern rarely falls.
      const int exponent = static_cast<int>(random() % static_cast<unsigned>(2 * f.bias() + 12)) - f.bias() - 10;
      const float near = std::ldexp(1.0f + static_cast<float>(random() >> 9) * 0x1p-23f, exponent);
      ASSERT_EQ(f.narrow(near), reference.narrow(near)) << f.name << " " << near;
    }
  }
}

TEST(Narrow, EveryNanPayloadGivesTheCanonicalPattern) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffc00000u, 0xffffffffu}) {
    const float nan = std::bit_cast<float>(bits);
    for (const Format& f : formats()) EXPECT_EQ(f.narrow(nan), f.nan) << f.name;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(canonical_nan(nan)), kNanF32);
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(canonical_nan(-0.0f)), 0x80000000u);
}

}  // namespace
}  // namespace lanefold
