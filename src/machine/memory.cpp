#include "machine/memory.h"

#include <cstring>

#include "base/diagnostic.h"
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

}  // namespace lanefold::machine
