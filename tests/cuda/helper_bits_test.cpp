// Helpers of the emitted source that take another way to the same bits, step by step on the host. LANEFOLD_EVERY_PATTERN=1 looks at every f32
// instead of one in about a thousand (minutes).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "math/portable.h"

namespace lanefold::testing {
namespace {

std::uint64_t stride() { return std::getenv("LANEFOLD_EVERY_PATTERN") != nullptr ? 1 : 997; }

float real(std::uint32_t bits) { return std::bit_cast<float>(bits); }
/// As the device's arithmetic leaves them: it has one NaN.
std::uint32_t bits(float value) { return std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value); }

/// The short way of exp_nonpositive_each, where it is taken.
std::optional<float> short_exp(float x) {
  const float t = std::fma(x, -1.442695f, -16777213.0f);
  if ((bits(t) & 0xcb7fff80u) != 0xcb7fff80u) return std::nullopt;
  const float minus_k = t + 16777213.0f;
  const float r = std::fma(minus_k, 1.4286068e-06f, std::fma(minus_k, 0.69314575f, x));
  const float p = std::fma(std::fma(std::fma(0.011051678f, r, 0.066949748f), r, 0.33334711f), r, 1.3333217f);
  const float power = std::fma(std::fma(std::fma(p, r, 3.9999995f), r, 8.0f), r, 8.0f);
  return real(bits(power) + (bits(t) << 23));
}

TEST(CudaHelperBits, TheShortWayOfExpNonpositive) {
  for (const std::uint32_t special : {0x00000000u, 0x80000000u, 0x80000001u, 0xc2adfadcu})
    EXPECT_TRUE(short_exp(real(special)).has_value()) << real(special);
  for (const std::uint32_t special : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800000u, 0xff7fffffu, 0xcb800000u})
    EXPECT_FALSE(short_exp(real(special)).has_value()) << real(special);
  std::uint64_t taken = 0, wrong = 0;
  for (std::uint64_t pattern = 0x80000000u; pattern <= 0xffffffffu; pattern += stride()) {
    const float x = real(static_cast<std::uint32_t>(pattern));
    const std::optional<float> result = short_exp(x);
    if (!result) continue;
    ++taken;
    if (bits(*result) == bits(math::evaluate_f32(math::Function::exp_nonpositive, x))) continue;
    if (wrong++ == 0) ADD_FAILURE() << "wrong at " << x;
  }
  EXPECT_EQ(wrong, 0u);
  // From -0 to -86.98: half of all numbers are below 1.
  EXPECT_GT(taken * stride(), std::uint64_t{1} << 30);
}

}  // namespace
}  // namespace lanefold::testing
