// Stored elements to machine words and back, and threadgroup memory.
#pragma once

#include <cstddef>
#include <vector>

#include "lane/module.h"
#include "machine/words.h"

namespace lanefold::machine {

/// Widens one stored element exactly.
Word load_word(const std::byte* at, ElementType type);
/// Narrows to one stored element: floats to nearest even with NaN as the format has it, f32 bits as they are,
/// integers by their low bits.
void store_word(std::byte* at, ElementType type, Word word);

/// The threadgroup arrays of one threadgroup; every element remembers whether it is poison.
class SharedMemory {
 public:
  explicit SharedMemory(const lane::Kernel& kernel);

  /// Everything unwritten again, for the next threadgroup.
  void reset();
  bool inside(std::uint32_t array, std::int32_t index) const;
  Word load(std::uint32_t array, std::int32_t index) const {
    return load_word(at(array, index), kernel_.shared[array].type);
  }
  bool poison(std::uint32_t array, std::int32_t index) const {
    return poison_[array][static_cast<std::size_t>(index)] != 0;
  }
  void store(std::uint32_t array, std::int32_t index, Word word, bool poison);

 private:
  const std::byte* at(std::uint32_t array, std::int32_t index) const;

  const lane::Kernel& kernel_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> offsets_;
  std::vector<std::vector<std::uint8_t>> poison_;
};

}  // namespace lanefold::machine
