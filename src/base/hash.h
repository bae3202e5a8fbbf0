// Fast 64-bit hashes for caches and identities inside one release; not for trust (see sha256.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lanefold {

/// XXH3 (64 bits) of `size` bytes.
std::uint64_t hash_bytes(const void* data, std::size_t size);
/// XXH3 (64 bits) of a text.
std::uint64_t hash_text(std::string_view text);
/// One hash of two, in which order matters: fold it over the parts of a value.
std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b);

}  // namespace lanefold
