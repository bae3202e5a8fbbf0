#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lanefold {

std::uint64_t hash_bytes(const void* data, std::size_t size) { return XXH3_64bits(data, size); }

std::uint64_t hash_text(std::string_view text) { return hash_bytes(text.data(), text.size()); }

std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) {
  unsigned char bytes[16];  // in one byte order, so that every host computes the same
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<unsigned char>(a >> (8 * i));
    bytes[8 + i] = static_cast<unsigned char>(b >> (8 * i));
  }
  return hash_bytes(bytes, sizeof bytes);
}

}  // namespace lanefold
