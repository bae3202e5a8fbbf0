#include "base/load_store.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/diagnostic.h"
#include "base/narrow.h"

namespace lanefold {
namespace {

template <class T>
T stored(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

TEST(LoadStore, FloatsRoundTripAtOddAddresses) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::e4m3,
                                 ElementType::e5m2, ElementType::f64}) {
    std::byte memory[12] = {};
    store_element(memory + 1, type, -1.5f);
    EXPECT_EQ(load_element_f32(memory + 1, type), -1.5f) << element_name(type);
    EXPECT_EQ(load_element_f64(memory + 1, type), -1.5) << element_name(type);
    EXPECT_EQ(memory[0], std::byte{0});
    for (std::size_t i = 1 + element_bytes(type); i < sizeof memory; ++i) EXPECT_EQ(memory[i], std::byte{0});
  }
}

TEST(LoadStore, NanIsStoredAsOnePattern) {
  const float nan = std::bit_cast<float>(0xffa12345u);
  std::byte memory[8];
  store_element(memory, ElementType::f32, nan);
  EXPECT_EQ(stored<std::uint32_t>(memory), kNanF32);
  store_element(memory, ElementType::f16, nan);
  EXPECT_EQ(stored<std::uint16_t>(memory), kNanF16);
  store_element(memory, ElementType::bf16, nan);
  EXPECT_EQ(stored<std::uint16_t>(memory), kNanBf16);
  store_element(memory, ElementType::e4m3, nan);
  EXPECT_EQ(stored<std::uint8_t>(memory), kNanFp8);
  store_element(memory, ElementType::e5m2, nan);
  EXPECT_EQ(stored<std::uint8_t>(memory), kNanFp8);
  EXPECT_TRUE(std::isnan(load_element_f64(memory, ElementType::e5m2)));
}

TEST(LoadStore, F32KeepsItsBitsOnLoad) {
  std::byte memory[4];
  for (const std::uint32_t bits : {0x00000001u, 0x80000000u, 0x7f800000u, 0xffc12345u}) {
    std::memcpy(memory, &bits, sizeof bits);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(load_element_f32(memory, ElementType::f32)), bits);
  }
}

TEST(LoadStore, Integers) {
  std::byte memory[8];
  store_integer(memory, ElementType::i8, -127);
  EXPECT_EQ(load_element_integer(memory, ElementType::i8), -127);
  EXPECT_EQ(load_element_f32(memory, ElementType::i8), -127.0f);
  store_integer(memory, ElementType::i8, 300);
  EXPECT_EQ(load_element_integer(memory, ElementType::i8), 44);
  store_integer(memory, ElementType::i32, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(load_element_integer(memory, ElementType::i32), std::numeric_limits<std::int32_t>::min());
  store_integer(memory, ElementType::i64, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(load_element_integer(memory, ElementType::i64), std::numeric_limits<std::int64_t>::max());
  store_integer(memory, ElementType::boolean, 256);
  EXPECT_EQ(stored<std::uint8_t>(memory), 1);
  EXPECT_EQ(load_element_f64(memory, ElementType::boolean), 1.0);
}

TEST(LoadStore, WrongKindIsAnInternalError) {
  std::byte memory[8] = {};
  EXPECT_THROW((void)load_element_integer(memory, ElementType::f32), InternalError);
  EXPECT_THROW(store_element(memory, ElementType::i32, 1.0f), InternalError);
  EXPECT_THROW(store_integer(memory, ElementType::bf16, 1), InternalError);
}

}  // namespace
}  // namespace lanefold
