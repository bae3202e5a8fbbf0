// The threadgroup arrays of one threadgroup.
#pragma once

#include <vector>

#include "lane/module.h"
#include "machine/access.h"
#include "machine/words.h"

namespace lanefold::machine {

/// One element: what stands in it, whether anybody wrote it, and who touched it.
struct SharedElement {
  Word word = kPoisonWord;
  bool poison = true;
  bool symbolic = false;  ///< the word is an expression
  Track track;
};

class SharedMemory {
 public:
  explicit SharedMemory(const lane::Kernel& kernel);

  /// Everything unwritten again.
  void reset();
  bool inside(std::uint32_t array, std::int32_t index) const {
    return index >= 0 && static_cast<std::uint32_t>(index) < arrays_[array].size();
  }
  SharedElement& at(std::uint32_t array, std::int32_t index) { return arrays_[array][static_cast<std::size_t>(index)]; }

 private:
  std::vector<std::vector<SharedElement>> arrays_;
};

}  // namespace lanefold::machine
