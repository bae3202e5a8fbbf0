// SHA-256, for digests that are published and compared between machines.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace lanefold {

/// An incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  /// Appends bytes to the message.
  void update(const void* data, std::size_t size);
  /// The digest of the message so far, as 64 lower-case hexadecimal digits; more bytes may follow.
  std::string hex_digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The SHA-256 of `size` bytes, as 64 lower-case hexadecimal digits.
std::string sha256_hex(const void* data, std::size_t size);

}  // namespace lanefold
