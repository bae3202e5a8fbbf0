// A small generator of random bits, the same on every machine for the same seed.
#pragma once

#include <cstdint>

namespace lanefold {

/// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): good bits from any seed. Not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 … bound − 1, for a bound far below 2^64.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// Uniform in [−1, 1), a multiple of 2^-23.
  float unit() { return static_cast<float>(static_cast<std::int64_t>(next()) >> 40) * 0x1p-23f; }

 private:
  std::uint64_t state_;
};

}  // namespace lanefold
