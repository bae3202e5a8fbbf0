// Exact widening and correctly rounded narrowing between f32 and the small float formats, by integer arithmetic only.
#pragma once

#include <bit>
#include <cstdint>

namespace lanefold {

/// The one NaN pattern that canonical stores write, for each format.
inline constexpr std::uint32_t kNanF32 = 0x7fc00000u;
inline constexpr std::uint16_t kNanF16 = 0x7e00u;
inline constexpr std::uint16_t kNanBf16 = 0x7fc0u;
inline constexpr std::uint8_t kNanFp8 = 0x7fu;

/// IEEE binary16 to binary32, exact; a NaN becomes the canonical NaN.
float widen_f16(std::uint16_t bits);
/// bfloat16 to binary32, exact; a NaN becomes the canonical NaN.
float widen_bf16(std::uint16_t bits);
/// fp8 e4m3 (OCP "fn": no infinities, 0x7f is NaN) to binary32, exact.
float widen_e4m3(std::uint8_t bits);
/// fp8 e5m2 (OCP, with infinities) to binary32, exact.
float widen_e5m2(std::uint8_t bits);

/// Round to nearest even; overflow gives infinity, subnormals are kept, NaN gives kNanF16.
std::uint16_t narrow_f16(float value);
/// Round to nearest even; NaN gives kNanBf16.
std::uint16_t narrow_bf16(float value);
/// Round to nearest even, saturating at ±448; NaN gives kNanFp8.
std::uint8_t narrow_e4m3(float value);
/// Round to nearest even, saturating at ±57344; NaN gives kNanFp8.
std::uint8_t narrow_e5m2(float value);

/// The value, with every NaN replaced by kNanF32.
inline float canonical_nan(float value) { return value != value ? std::bit_cast<float>(kNanF32) : value; }

}  // namespace lanefold
