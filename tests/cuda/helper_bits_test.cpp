// Helpers of the emitted source that take another way to the same bits, step by step on the host. LANEFOLD_EVERY_PATTERN=1 looks at every f32
// instead of one in about a thousand (minutes).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "math/portable.h"

namespace lanefold::testing {
namespace {

std::uint64_t stride() { return std::getenv("LANEFOLD_EVERY_PATTERN") != nullptr ? 1 : 997; }

float real(std::uint32_t bits) { return std::bit_cast<float>(bits); }
/// As the device's arithmetic leaves them: it has one NaN.
std::uint32_t bits(float value) { return std::isnan(value) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value); }

/// The short way of exp_nonpositive_each, of arguments from -86 on.
float near_exp(float x) {
  const float t = std::fma(x, -1.442695f, -12582912.0f), minus_k = t + 12582912.0f;
  const float r = std::fma(minus_k, 1.4286068e-06f, std::fma(minus_k, 0.69314575f, x));
  const float p_3 = std::fma(std::fma(0.0013814598f, r, 0.008368718f), r, 0.04166839f);
  const float p = std::fma(std::fma(std::fma(std::fma(p_3, r, 0.16666521f), r, 0.49999994f), r, 1.0f), r, 1.0f);
  return real(bits(p) + (bits(t) << 23));
}

TEST(CudaHelperBits, TheShortWayOfExpNonpositive) {
  EXPECT_EQ(near_exp(0.0f), 1.0f);
  std::uint64_t taken = 0, wrong = 0;
  for (std::uint64_t pattern = 0x80000000u; pattern <= 0xffffffffu; pattern += stride()) {
    const float x = real(static_cast<std::uint32_t>(pattern));
    if (!(x >= -86.0f)) continue;
    ++taken;
    if (bits(near_exp(x)) == bits(math::evaluate_f32(math::Function::exp_nonpositive, x))) continue;
    if (wrong++ == 0) ADD_FAILURE() << "wrong at " << x;
  }
  EXPECT_EQ(wrong, 0u);
  // From -0 to -86: half of all numbers are below 1.
  EXPECT_GT(taken * stride(), std::uint64_t{1} << 30);
}

float divided_by(float a, float b, float reciprocal) {
  const float quotient = a * reciprocal;
  const float corrected = std::fma(std::fma(quotient, -b, a), reciprocal, quotient);
  const float size = std::fabs(quotient);
  return 0.0f < size && size < std::numeric_limits<float>::infinity() ? corrected : quotient;
}

TEST(CudaHelperBits, DivisionByOddIntegers) {
  std::uint64_t wrong = 0;
  for (const float b : {127.0f, 3.0f, 5.0f, 7.0f, 255.0f, 32767.0f, 1048575.0f}) {
    const float reciprocal = 1.0f / b;
    for (std::uint64_t pattern = 0; pattern <= 0xffffffffu; pattern += b == 127.0f ? stride() : 40 * stride()) {
      const float a = real(static_cast<std::uint32_t>(pattern));
      if (bits(divided_by(a, b, reciprocal)) == bits(a / b)) continue;
      if (wrong++ == 0) ADD_FAILURE() << "wrong for " << a << " / " << b;
    }
  }
  EXPECT_EQ(wrong, 0u);
}

/// The code of n on the scale d as the library's quantize has it.
int code_of(float n, float d) {
  const float quotient = n / d;
  if (std::isnan(quotient) || d == 0.0f) return 0;
  const float whole = std::trunc(quotient);
  const float rounded = std::fabs(quotient - whole) >= 0.5f ? whole + std::copysign(1.0f, quotient) : whole;
  return static_cast<int>(std::clamp(rounded, -127.0f, 127.0f));
}

/// The short way of quantize_each, where it is taken; the device's reciprocal may be off by `off` units in the last place.
std::optional<int> short_code(float n, float d, int off, bool is_bounded) {
  float reciprocal = real(bits(1.0f / d) + static_cast<std::uint32_t>(off));
  if (std::fabs(d) < std::numeric_limits<float>::min()) reciprocal = std::copysign(INFINITY, d);
  if (!is_bounded && !(std::fabs(d) < 8.507059e37f)) reciprocal = NAN;
  if (d == 0.0f) reciprocal = 0.0f;
  const float least = reciprocal * 0.99999964f, most = reciprocal * 1.00000036f;
  const std::uint32_t sum = bits(std::fma(n, least, 12583040.0f));
  const std::uint32_t differing = sum ^ bits(std::fma(n, most, 12583040.0f));
  const std::uint32_t byte = sum & 0xffu;
  const bool is_far = bits(d) - 0x03800000u > 0x78000000u && bits(d) != 0;
  if (differing != 0 || (is_bounded ? is_far : (sum & 0xb4bfff00u) != 0 || byte == 0)) return std::nullopt;
  return static_cast<int>(byte) - 128;
}

class Quantising : public ::testing::Test {
 protected:
  void expect_same(float n, float d, bool is_bounded = false) {
    for (int off = -1; off <= 1; ++off) {
      ++asked_;
      const std::optional<int> code = short_code(n, d, off, is_bounded);
      if (!code) continue;
      ++taken_;
      if (*code != code_of(n, d) && wrong_++ == 0) ADD_FAILURE() << n << " / " << d << " gives " << *code;
    }
  }
  std::uint64_t asked_ = 0, taken_ = 0, wrong_ = 0;
};

TEST_F(Quantising, BesideHalvesAndBeyondTheLastCode) {
  std::mt19937 random(7);
  const std::uint64_t count = 1'000'000'000 / stride();
  for (std::uint64_t i = 0; i < count; ++i) {
    const float d =
        std::ldexp(1.0f + static_cast<float>(random() >> 8) * 0x1p-24f, static_cast<int>(random() % 240) - 120);
    const double half = static_cast<double>(random() % 520) / 2 - 130;
    const float n = static_cast<float>(half * static_cast<double>(d));
    const std::uint32_t near = bits(n) + random() % 17 - 8;
    if (std::isfinite(real(near))) expect_same(real(near), random() % 2 == 0 ? d : -d);
  }
  EXPECT_EQ(wrong_, 0u);
}

TEST_F(Quantising, AnyTwoNumbers) {
  std::mt19937 random(8);
  const std::uint64_t count = 1'000'000'000 / stride();
  for (std::uint64_t i = 0; i < count; ++i) expect_same(real(random()), real(random()));
  for (const float special :
       {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-40f, 1.17549435e-38f, 3.4e38f, 8.507059e37f, 1.0f})
    for (std::uint64_t i = 0; i < 1000; ++i) {
      expect_same(real(random()), special);
      expect_same(special, real(random()));
      expect_same(special, special);
    }
  EXPECT_EQ(wrong_, 0u);
}

TEST_F(Quantising, WithinTheLargestSize) {
  std::mt19937 random(10);
  const std::uint64_t count = 1'000'000'000 / stride();
  for (std::uint64_t i = 0; i < count; ++i) {
    const float largest = real(random() & 0x7fffffffu), d = largest / 127.0f;
    const double half = static_cast<double>(random() % 509) / 2 - 127;
    std::uint32_t near = bits(static_cast<float>(half * static_cast<double>(d))) + random() % 17 - 8;
    if (random() % 8 == 0) near = random();
    // A NaN makes the largest NaN.
    if (!(std::fabs(real(near)) > largest) && !(std::isnan(real(near)) && !std::isnan(largest)))
      expect_same(real(near), d, true);
    expect_same(largest, d, true);
    expect_same(-largest, d, true);
  }
  for (const float largest : {0.0f, 1e-45f, 1e-43f, 1e-40f, 1.17549435e-38f, 3.4e38f, INFINITY, NAN, 1.0f})
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const float n = real(random());
      if (!(std::fabs(n) > largest) && (!std::isnan(n) || std::isnan(largest))) expect_same(n, largest / 127.0f, true);
      expect_same(largest, largest / 127.0f, true);
    }
  EXPECT_EQ(wrong_, 0u);
  EXPECT_GT(taken_, asked_ / 2);
}

TEST_F(Quantising, MostCodesOfABlockTakeTheShortWay) {
  std::mt19937 random(9);
  for (int i = 0; i < 1'000'000; ++i) {
    const float largest = 0.5f + static_cast<float>(random() >> 8) * 0x1p-24f;
    expect_same(largest * static_cast<float>(random() >> 8) * 0x1p-24f, largest / 127.0f, i % 2 == 0);
  }
  EXPECT_EQ(wrong_, 0u);
  EXPECT_GT(static_cast<double>(taken_), 0.9998 * static_cast<double>(asked_));
}

/// A bf16 of a kind that matters to argmax: any bits, zeros, infinities, NaN among others, subnormals.
std::uint32_t half_of(std::uint32_t kind, std::mt19937& random) {
  constexpr std::array<std::uint32_t, 13> kSpecial = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0,
                                                      0xffc1, 0x7f81, 0x0001, 0x8001, 0x7f7f, 0xff7f};
  switch (kind % 6) {
    case 0: return random() & 0xffffu;
    case 1: return kSpecial[random() % kSpecial.size()];
    case 2: return kSpecial[random() % 2];
    case 3: return kSpecial[random() % 40 == 0 ? 6 + random() % 3 : random() % 2 == 0 ? 3 : 5];
    case 4: return 0x8000u | random() % 4;
    default: return random() & 0x3fffu;
  }
}

/// What the device's packed comparisons and extrema make of one half.
struct DevicePair {
  static float widened(std::uint32_t half) { return real(half << 16); }
  static bool better(std::uint32_t a, std::uint32_t b, bool most) {
    return most ? widened(a) > widened(b) : widened(a) < widened(b);
  }
  static std::uint32_t extreme(std::uint32_t a, std::uint32_t b, bool most) {
    const float x = widened(a), y = widened(b);
    if (std::isnan(x) || std::isnan(y)) return 0x7fff;
    if (x == y) return most ? a & b : a | b;  // zeros
    return better(a, b, most) ? a : b;
  }
};

struct Leader {
  std::uint32_t half;
  std::size_t at;
  friend bool operator==(const Leader&, const Leader&) = default;
};

Leader leader_by_steps(std::span<const std::uint32_t> halves, bool most) {
  Leader leader{halves[0], 0};
  for (std::size_t i = 1; i < halves.size(); ++i) {
    const float a = DevicePair::widened(leader.half), b = DevicePair::widened(halves[i]);
    const bool no_better = most ? b <= a : b >= a;
    if (!no_better && a == a) leader = {halves[i], i};
  }
  return leader;
}

/// argmax_of_pairs, of one half of the pairs; `looks_again`: as the other half may demand it.
Leader leader_of_pairs(std::span<const std::uint32_t> halves, bool most, bool looks_again) {
  Leader leader{halves[0], 0};
  for (std::size_t i = 1; i < halves.size(); ++i) {
    if (DevicePair::better(halves[i], leader.half, most)) leader.at = i;
    leader.half = DevicePair::extreme(leader.half, halves[i], most);
  }
  const float found = DevicePair::widened(leader.half);
  if (!looks_again && found != 0.0f && !std::isnan(found)) return leader;
  for (std::size_t i = halves.size(); i-- > 0;) {
    const float half = DevicePair::widened(halves[i]);
    if (half == found || std::isnan(half)) leader = {halves[i], i};
  }
  return leader;
}

TEST(CudaHelperBits, ArgmaxOfPairsIsItsSteps) {
  std::mt19937 random(10);
  std::uint64_t wrong = 0;
  std::vector<std::uint32_t> halves;
  for (int i = 0; i < 300'000; ++i) {
    halves.assign(1 + random() % 12, 0);
    const std::uint32_t kind = random();
    for (std::uint32_t& half : halves) half = half_of(kind, random);
    for (const bool most : {true, false}) {
      const Leader leader = leader_by_steps(halves, most);
      for (const bool looks_again : {false, true})
        if (leader_of_pairs(halves, most, looks_again) != leader && wrong++ == 0)
          ADD_FAILURE() << "wrong among " << halves.size() << " of kind " << kind % 6 << ", most: " << most;
    }
  }
  EXPECT_EQ(wrong, 0u);
}

struct Lane {
  std::uint32_t value;
  std::int32_t column;
  friend bool operator==(const Lane&, const Lane&) = default;
};

Lane merged(const Lane& a, const Lane& b, bool most) {
  const float x = real(a.value), y = real(b.value);
  const bool below = b.column < a.column, better = most ? y > x : y < x;
  const bool right = std::isnan(x) ? std::isnan(y) && below : std::isnan(y) || better || (y == x && below);
  return right ? b : a;
}

/// argmax_of_lanes.
Lane leader_of_lanes(std::span<const Lane> lanes, bool most) {
  const auto order = [&](const Lane& lane) {
    const float sum = most ? real(lane.value) + 0.0f : 0.0f - real(lane.value);
    const auto signed_bits = static_cast<std::int32_t>(bits(sum));
    return signed_bits ^ (signed_bits >> 31 & 0x7fffffff);
  };
  std::int32_t first = std::numeric_limits<std::int32_t>::min(), lowest = std::numeric_limits<std::int32_t>::max();
  for (const Lane& lane : lanes) first = std::max(first, order(lane));
  for (const Lane& lane : lanes)
    if (order(lane) == first) lowest = std::min(lowest, lane.column);
  for (const Lane& lane : lanes)
    if (order(lane) == first && lane.column == lowest) return lane;
  return {};
}

TEST(CudaHelperBits, ArgmaxOfLanesIsItsMerges) {
  std::mt19937 random(11);
  std::uint64_t wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::array<Lane, 32> lanes{};
    const std::uint32_t kind = random(), columns = 1u << random() % 31;
    for (Lane& lane : lanes) {
      const auto below = static_cast<std::uint32_t>(kind >> 8 & random() & 0xffffu);
      lane.value = half_of(kind, random) << 16 | below;
      lane.column = std::numeric_limits<std::int32_t>::max();
      if (random() % 8 != 0) lane.column = static_cast<std::int32_t>(random() % columns);
    }
    for (const bool most : {true, false}) {
      std::array<Lane, 32> tree = lanes;
      for (std::size_t step = 1; step < tree.size(); step *= 2)
        for (std::size_t at = 0; at < tree.size(); at += 2 * step) tree[at] = merged(tree[at], tree[at + step], most);
      if (leader_of_lanes(lanes, most) != tree[0] && wrong++ == 0) ADD_FAILURE() << "wrong of kind " << kind % 6;
    }
  }
  EXPECT_EQ(wrong, 0u);
}

/// maximum_of_lanes and minimum_of_lanes.
float extreme_of_lanes(std::span<const float> lanes, bool most) {
  const auto turned = [](std::int32_t b) { return b ^ (b >> 31 & 0x7fffffff); };
  using Limits = std::numeric_limits<std::int32_t>;
  std::int32_t first = most ? Limits::min() : Limits::max();
  for (const float lane : lanes) {
    const std::int32_t nan = most ? Limits::max() : Limits::min();
    const std::int32_t order = std::isnan(lane) ? nan : turned(static_cast<std::int32_t>(bits(lane)));
    first = most ? std::max(first, order) : std::min(first, order);
  }
  return real(static_cast<std::uint32_t>(turned(first)));
}

TEST(CudaHelperBits, TheExtremeOfLanesIsItsMerges) {
  std::mt19937 random(12);
  std::uint64_t wrong = 0;
  // -0 is below +0, as the device's minimum and maximum have it; NaN is compared as NaN, since stores make it one.
  const auto below = [](float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
  for (int i = 0; i < 100'000; ++i) {
    std::array<float, 32> lanes{};
    const std::uint32_t kind = random();
    for (float& lane : lanes) lane = real(half_of(kind, random) << 16 | (kind >> 8 & random() & 0xffffu));
    for (const bool most : {true, false}) {
      float merged = lanes[0];
      for (const float lane : lanes) {
        if (std::isnan(merged)) break;
        if (std::isnan(lane) || (most ? below(merged, lane) : below(lane, merged))) merged = lane;
      }
      const float got = extreme_of_lanes(lanes, most);
      const bool same = std::isnan(merged) ? std::isnan(got) : bits(got) == bits(merged);
      if (!same && wrong++ == 0) ADD_FAILURE() << "wrong of kind " << kind % 6 << ": " << got << ", not " << merged;
    }
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace lanefold::testing
