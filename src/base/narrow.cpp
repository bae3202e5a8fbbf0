#include "base/narrow.h"

namespace lanefold {
namespace {

constexpr int kSingleBias = 127;
constexpr int kSingleMantissaBits = 23;
constexpr std::uint32_t kSingleInfinity = 0x7f800000u;

/// The shape of a small float format.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;         ///< false: the top exponent holds numbers too, all ones being NaN (e4m3)
  std::uint32_t overflow;    ///< the magnitude bits that a value too large is given
  std::uint32_t nan;         ///< the canonical NaN
  std::uint32_t max_finite;  ///< the magnitude bits of the largest number
};

constexpr Format kF16{5, 10, 15, true, 0x7c00, kNanF16, 0x7bff};
constexpr Format kBf16{8, 7, 127, true, 0x7f80, kNanBf16, 0x7f7f};
constexpr Format kE4m3{4, 3, 7, false, 0x7e, kNanFp8, 0x7e};
constexpr Format kE5m2{5, 2, 15, true, 0x7b, kNanFp8, 0x7b};

/// The value of `bits`, exactly; every NaN becomes the canonical one.
float widen(const Format& f, std::uint32_t bits) {
  const std::uint32_t magnitude_mask = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  const std::uint32_t magnitude = bits & magnitude_mask;
  const std::uint32_t sign = (bits & ~magnitude_mask) << (31 - f.exponent_bits - f.mantissa_bits);
  if (magnitude > f.max_finite) {
    const bool infinity = f.has_infinity && magnitude == f.max_finite + 1;
    return std::bit_cast<float>(infinity ? sign | kSingleInfinity : kNanF32);
  }
  std::uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  int exponent = static_cast<int>(magnitude >> f.mantissa_bits) - f.bias;
  if (exponent == -f.bias) {  // zero or subnormal: value = mantissa * 2^(1 - bias - mantissa_bits)
    if (mantissa == 0) return std::bit_cast<float>(sign);
    exponent = 1 - f.bias;
    if (exponent == 1 - kSingleBias) {  // subnormal in f32 too
      return std::bit_cast<float>(sign | mantissa << (kSingleMantissaBits - f.mantissa_bits));
    }
    while ((mantissa >> f.mantissa_bits) == 0) {
      mantissa <<= 1;
      --exponent;
    }
    mantissa &= (1u << f.mantissa_bits) - 1;
  }
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(exponent + kSingleBias) << kSingleMantissaBits |
                              mantissa << (kSingleMantissaBits - f.mantissa_bits));
}

/// `value` divided by 2^shift, rounded to nearest even; shift is at least 1.
std::uint32_t round_shift(std::uint32_t value, int shift) {
  if (shift > 31) return 0;  // below half of one unit, for value < 2^24
  const std::uint32_t kept = value >> shift;
  const std::uint32_t rest = value & ((1u << shift) - 1);
  const std::uint32_t half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)) ? 1u : 0u);
}

/// The nearest number of the format to `value`, ties to even.
std::uint32_t narrow(const Format& f, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 31) << (f.exponent_bits + f.mantissa_bits);
  if (magnitude > kSingleInfinity) return f.nan;
  if (magnitude == kSingleInfinity) return sign | f.overflow;

  const int dropped = kSingleMantissaBits - f.mantissa_bits;
  const int exponent = static_cast<int>(magnitude >> kSingleMantissaBits) - kSingleBias + f.bias;
  std::uint32_t result;
  if (exponent >= 1) {
    // Rebias and round exponent and mantissa as one integer, so that a carry moves into the exponent.
    const auto rebias = static_cast<std::uint32_t>(kSingleBias - f.bias) << kSingleMantissaBits;
    result = round_shift(magnitude - rebias, dropped);
  } else {
    // Subnormal in the format: a whole number of its smallest unit. An f32 subnormal has no hidden bit.
    const bool hidden = magnitude >> kSingleMantissaBits != 0;
    const std::uint32_t mantissa =
        (magnitude & ((1u << kSingleMantissaBits) - 1)) | (hidden ? 1u << kSingleMantissaBits : 0u);
    result = round_shift(mantissa, dropped + (hidden ? 1 - exponent : -exponent));
  }
  return sign | (result > f.max_finite ? f.overflow : result);
}

}  // namespace

float widen_f16(std::uint16_t bits) { return widen(kF16, bits); }
float widen_bf16(std::uint16_t bits) { return widen(kBf16, bits); }
float widen_e4m3(std::uint8_t bits) { return widen(kE4m3, bits); }
float widen_e5m2(std::uint8_t bits) { return widen(kE5m2, bits); }

std::uint16_t narrow_f16(float value) { return static_cast<std::uint16_t>(narrow(kF16, value)); }
std::uint16_t narrow_bf16(float value) { return static_cast<std::uint16_t>(narrow(kBf16, value)); }
std::uint8_t narrow_e4m3(float value) { return static_cast<std::uint8_t>(narrow(kE4m3, value)); }
std::uint8_t narrow_e5m2(float value) { return static_cast<std::uint8_t>(narrow(kE5m2, value)); }

}  // namespace lanefold
