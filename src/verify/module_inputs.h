// What the input buffers of a lane module hold when it is checked, and where a proof looks for an input that tells two kernels apart.
#pragma once

#include <cstdint>

#include "verify/instance.h"

namespace lanefold::verify {

/// Kinds of content.
enum class Pattern : std::uint8_t {
  plain,           ///< numbers of about 1, of both signs
  mixed,           ///< magnitudes from 2^-20 to 2^20, some zeros of both signs
  extreme,         ///< mixed, with infinities, NaNs, subnormals and the largest numbers among them
  negative_zeros,  ///< −0 everywhere; integers 0
  ones,            ///< 1 everywhere
};
std::string_view pattern_name(Pattern pattern);

/// Fills inputs and inouts by the pattern, the same for the same buffer name, type and seed. Quantised weights of hand-written modules get
/// finite scales in every pattern but `extreme`.
void fill_inputs(ModuleMemory& memory, const Instance& instance, Pattern pattern, std::uint64_t seed);

}  // namespace lanefold::verify
