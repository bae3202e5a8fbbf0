#include "verify/module_inputs.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "base/load_store.h"
#include "base/random.h"

namespace lanefold::verify {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float special(std::uint64_t bits) {
  constexpr float kSpecial[] = {kInfinity,
                                -kInfinity,
                                std::numeric_limits<float>::quiet_NaN(),
                                0x1p-140f,
                                -0x1p-149f,
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::lowest(),
                                -0.0f};
  return kSpecial[bits % std::size(kSpecial)];
}

float number(Pattern pattern, Random& random) {
  switch (pattern) {
    case Pattern::negative_zeros: return -0.0f;
    case Pattern::ones: return 1.0f;
    case Pattern::plain: return random.unit() * 2.0f;
    case Pattern::extreme:
      if (const std::uint64_t bits = random.next(); bits % 61 == 0) return special(bits / 61);
      [[fallthrough]];
    case Pattern::mixed: {
      const std::uint64_t bits = random.next();
      if (bits % 29 == 0) return (bits / 29) % 2 == 0 ? 0.0f : -0.0f;
      return std::ldexp(random.unit(), static_cast<int>(bits / 29 % 41) - 20);
    }
  }
  internal_error("verify: an unknown pattern");
}

/// Blocks of 34 bytes: an f16 scale, then 32 codes.
void fill_q8_0(const View& view, Pattern pattern, Random& random) {
  constexpr std::int64_t kBlock = 34;
  for (std::int64_t at = 0; at + kBlock <= view.cols; at += kBlock) {
    const float scale = pattern == Pattern::extreme                                      ? number(pattern, random)
                        : pattern == Pattern::negative_zeros || pattern == Pattern::ones ? number(pattern, random)
                                                                                         : random.unit() * 0.05f;
    store_element(view.at(0, at), ElementType::f16, scale);
    for (std::int64_t i = 2; i < kBlock; ++i)
      store_integer(view.at(0, at + i), ElementType::i8,
                    pattern == Pattern::ones ? 1 : static_cast<std::int64_t>(random.next() % 255) - 127);
  }
}

}  // namespace

std::string_view pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::plain: return "plain";
    case Pattern::mixed: return "mixed";
    case Pattern::extreme: return "extreme";
    case Pattern::negative_zeros: return "negative_zeros";
    case Pattern::ones: return "ones";
  }
  internal_error("verify: an unknown pattern");
}

void fill_inputs(ModuleMemory& memory, const Instance& instance, Pattern pattern, std::uint64_t seed) {
  const bool blocks = instance.hand_written != nullptr && instance.hand_written->has_weights &&
                      instance.sizes.weights == kernels::WeightFormat::q8_0;
  for (std::size_t b = 0; b < memory.buffers().size(); ++b) {
    const ModuleBuffer& buffer = memory.buffers()[b];
    if (buffer.role == lane::Role::output) continue;
    Random random(hash_combine(seed, hash_text(buffer.name)));
    const View view = memory.view(b);
    if (blocks && buffer.type == ElementType::i8) {
      fill_q8_0(view, pattern, random);
      continue;
    }
    for (std::int64_t i = 0; i < view.cols; ++i) {
      if (is_float(view.type)) {
        store_element(view.at(0, i), view.type, number(pattern, random));
        continue;
      }
      // Integers may be used as indices, so they stay small and not negative; codes of i8 take all values.
      const bool zero = pattern == Pattern::negative_zeros;
      const auto bits = static_cast<std::int64_t>(random.next() >> 33);
      const std::int64_t most = view.type == ElementType::i8 ? 255 : std::max<std::int64_t>(1, instance.cols);
      const std::int64_t value = zero ? 0 : pattern == Pattern::ones ? 1 : bits % most;
      store_integer(view.at(0, i), view.type, view.type == ElementType::i8 && value > 0 ? value - 127 : value);
    }
  }
}

}  // namespace lanefold::verify
