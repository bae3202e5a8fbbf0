#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

#include "base/sha256.h"

namespace lanefold {
namespace {

TEST(Hash, KnownValues) {
  // XXH3-64 of the empty input with seed 0, from the algorithm's specification.
  EXPECT_EQ(hash_text(""), 0x2d06800538d394c2u);
  EXPECT_EQ(hash_bytes("abc", 3), hash_text("abc"));
}

TEST(Hash, CombineDependsOnOrderAndBothParts) {
  EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
  EXPECT_NE(hash_combine(1, 2), hash_combine(1, 3));
  EXPECT_NE(hash_combine(1, 2), hash_combine(3, 2));
  const unsigned char bytes[16] = {1, 0, 0, 0, 0, 0, 0, 0, 2};
  EXPECT_EQ(hash_combine(1, 2), hash_bytes(bytes, sizeof bytes));
}

TEST(Sha256, PublishedVectors) {
  // FIPS 180-4 examples.
  EXPECT_EQ(sha256_hex("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string million(1000000, 'a');
  EXPECT_EQ(sha256_hex(million.data(), million.size()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsAndContinuation) {
  Sha256 hash;
  hash.update("a", 1);
  EXPECT_EQ(hash.hex_digest(), sha256_hex("a", 1));
  hash.update("bc", 2);
  EXPECT_EQ(hash.hex_digest(), sha256_hex("abc", 3));
  Sha256 moved = std::move(hash);
  EXPECT_EQ(moved.hex_digest(), sha256_hex("abc", 3));
}

}  // namespace
}  // namespace lanefold
