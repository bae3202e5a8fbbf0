#include "machine/memory.h"

#include <algorithm>
#include <cstring>

#include "base/load_store.h"

namespace lanefold::machine {

Word load_word(const std::byte* at, ElementType type) {
  switch (type) {
    case ElementType::f32: {
      std::uint32_t bits;
      std::memcpy(&bits, at, sizeof bits);
      return bits;
    }
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::e4m3:
    case ElementType::e5m2: return to_word(load_element_f32(at, type));
    case ElementType::i8:
    case ElementType::i32: return to_word(static_cast<std::int32_t>(load_element_integer(at, type)));
    case ElementType::i64:
    case ElementType::boolean: return to_word(load_element_integer(at, type));
    case ElementType::f64: break;
  }
  internal_error("machine: a load of f64");
}

void store_word(std::byte* at, ElementType type, Word word) {
  switch (type) {
    case ElementType::f32: {
      const auto bits = static_cast<std::uint32_t>(word);
      std::memcpy(at, &bits, sizeof bits);
      return;
    }
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::e4m3:
    case ElementType::e5m2: return store_element(at, type, from_word<float>(word));
    case ElementType::i8:
    case ElementType::i32: return store_integer(at, type, from_word<std::int32_t>(word));
    case ElementType::i64:
    case ElementType::boolean: return store_integer(at, type, from_word<std::int64_t>(word));
    case ElementType::f64: break;
  }
  internal_error("machine: a store of f64");
}

SharedMemory::SharedMemory(const lane::Kernel& kernel) : kernel_(kernel), bytes_(lane::shared_bytes(kernel)) {
  for (std::uint32_t i = 0; i < kernel.shared.size(); ++i) {
    offsets_.push_back(lane::shared_offset(kernel, i));
    poison_.emplace_back(kernel.shared[i].size);
  }
  reset();
}

void SharedMemory::reset() {
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(kPoisonBits >> (8 * (i % 4)));
  for (std::vector<std::uint8_t>& array : poison_) std::fill(array.begin(), array.end(), std::uint8_t{1});
}

bool SharedMemory::inside(std::uint32_t array, std::int32_t index) const {
  return index >= 0 && static_cast<std::uint32_t>(index) < kernel_.shared[array].size;
}

const std::byte* SharedMemory::at(std::uint32_t array, std::int32_t index) const {
  return bytes_.data() + offsets_[array] + static_cast<std::size_t>(index) * element_bytes(kernel_.shared[array].type);
}

void SharedMemory::store(std::uint32_t array, std::int32_t index, Word word, bool poison) {
  store_word(const_cast<std::byte*>(at(array, index)), kernel_.shared[array].type, word);
  poison_[array][static_cast<std::size_t>(index)] = poison ? 1 : 0;
}

}  // namespace lanefold::machine
