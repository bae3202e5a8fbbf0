// Stored elements to machine words and back.
#pragma once

#include <cstddef>

#include "base/element_type.h"
#include "machine/words.h"

namespace lanefold::machine {

/// Widens one stored element exactly.
Word load_word(const std::byte* at, ElementType type);
/// Narrows to one stored element: floats to nearest even with NaN as the format has it, f32 bits as they are,
/// integers by their low bits.
void store_word(std::byte* at, ElementType type, Word word);

}  // namespace lanefold::machine
