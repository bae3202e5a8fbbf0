// The seed of a property test: LANEFOLD_SEED where it is set, else a fixed one. It is printed, so that a failure can
// be had again.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace lanefold::testing {

inline std::uint64_t property_seed() {
  static const std::uint64_t kSeed = [] {
    const char* given = std::getenv("LANEFOLD_SEED");
    const std::uint64_t seed = given != nullptr && *given != '\0' ? std::strtoull(given, nullptr, 0) : 20260;
    std::printf("LANEFOLD_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return seed;
  }();
  return kSeed;
}

}  // namespace lanefold::testing
