#include "machine/shared_memory.h"

#include <algorithm>

namespace lanefold::machine {

SharedMemory::SharedMemory(const lane::Kernel& kernel) {
  for (const lane::SharedArray& array : kernel.shared) arrays_.emplace_back(array.size);
}

void SharedMemory::reset() {
  for (std::vector<SharedElement>& array : arrays_) std::fill(array.begin(), array.end(), SharedElement{});
}

}  // namespace lanefold::machine
