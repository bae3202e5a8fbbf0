// Lane vectors of machine words: one 64-bit word per lane, and a mask of lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "base/element_type.h"

namespace lanefold::machine {

/// The bits of one value in one lane; f32 and i32 in the low half with the rest zero, boolean 0 or 1.
using Word = std::uint64_t;
/// Bit i stands for lane i.
using LaneMask = std::uint64_t;

inline LaneMask all_lanes(std::uint32_t width) { return width == 64 ? ~LaneMask{0} : (LaneMask{1} << width) - 1; }

/// Calls f(lane) for every lane of the mask.
template <class F>
void each_lane(LaneMask mask, std::uint32_t width, F f) {
  if (mask == all_lanes(width)) {
    for (std::uint32_t lane = 0; lane < width; ++lane) f(lane);
    return;
  }
  for (; mask != 0; mask &= mask - 1) f(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

template <class T>
T from_word(Word word) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<std::uint32_t>(word));
  } else {
    return static_cast<T>(word);
  }
}

template <class T>
Word to_word(T value) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return static_cast<Word>(value);
  }
}

/// What stands in registers and threadgroup memory before anything is written: a signalling NaN, and no likely integer.
inline constexpr std::uint32_t kPoisonBits = 0x7fa5a5a5u;
inline constexpr Word kPoisonWord = Word{kPoisonBits} << 32 | kPoisonBits;

}  // namespace lanefold::machine
