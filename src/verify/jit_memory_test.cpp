// Loads and stores of lane modules in every storage type and form of address: the JIT's bytes are the lane machine's.
#if LANEFOLD_JIT  // these compare the JIT with the lane machine

#include <array>
#include <numeric>
#include <random>

#include "base/load_store.h"
#include "verify/test_jit.h"

namespace lanefold::verify {
namespace {

using lane::Builder;
using lane::Op;
using lane::Role;
using lane::ValueId;

/// Copies from a buffer of type `from` to one of type `to`, lane by lane; floats as one NaN.
std::vector<std::byte> converted(ElementType from, ElementType to, const std::vector<std::byte>& in,
                                 std::uint32_t width, bool scalar) {
  KernelDraft draft(width, 1, {{from, Role::input}, {to, Role::output}});
  Builder b = draft.builder();
  const ValueId at = scalar ? b.threadgroup() : global_lane(b, draft.kernel());
  ValueId value = b.load(0, from, at)[0];
  if (is_float(from)) value = b.unary(Op::canonical_nan, value);
  b.store(1, at, std::array{value});
  const auto count = static_cast<std::int64_t>(in.size() / element_bytes(from));
  const std::vector<std::byte> out(static_cast<std::size_t>(count) * element_bytes(to), std::byte{0x5a});
  const auto after = run_everywhere(draft.module, {in, out}, scalar ? count : count / width);
  return after.empty() ? out : after[1];
}

template <class T>
std::vector<std::byte> every_pattern() {
  std::vector<T> all(std::size_t{1} << (8 * sizeof(T)));
  std::iota(all.begin(), all.end(), T{0});
  return bytes_of(all);
}

TEST(JitMemory, WidensEveryPattern) {
  for (const bool scalar : {false, true}) {
    for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::e4m3, ElementType::e5m2}) {
      SCOPED_TRACE(element_name(type));
      const auto in = element_bytes(type) == 1 ? every_pattern<std::uint8_t>() : every_pattern<std::uint16_t>();
      const auto out = values_of<std::uint32_t>(converted(type, ElementType::f32, in, 16, scalar));
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], std::bit_cast<std::uint32_t>(load_element_f32(in.data() + i * element_bytes(type), type)))
            << i;
    }
    converted(ElementType::i8, ElementType::i32, every_pattern<std::uint8_t>(), 16, scalar);
  }
}

/// f32 patterns around every step of the narrow types, and random ones.
std::vector<std::byte> many_floats() {
  std::vector<std::uint32_t> bits;
  std::mt19937 random(7);
  for (int i = 0; i < 60000; ++i) bits.push_back(random());
  // Halves between neighbours of e4m3, e5m2, f16 and bf16 have all low bits clear but one, or nearly so.
  for (std::uint32_t exponent = 100; exponent < 146; ++exponent)
    for (std::uint32_t high = 0; high < 64; ++high)
      for (const std::uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0xffffu, 0x10000u, 0x1ffffu})
        bits.push_back((exponent << 23 | high << 17) + low);
  for (const std::uint32_t special :
       {0u, 1u, 0x007fffffu, 0x7f7fffffu, 0x7f7f8000u, 0x7f800000u, 0x7f800001u, 0x7fffffffu, 0x7fc12345u})
    for (const std::uint32_t sign : {0u, 0x80000000u}) bits.push_back(special | sign);
  while (bits.size() % 16 != 0) bits.push_back(0);
  return bytes_of(bits);
}

TEST(JitMemory, NarrowsToNearestEven) {
  const std::vector<std::byte> in = many_floats();
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::e4m3, ElementType::e5m2}) {
    for (const bool scalar : {false, true}) {
      SCOPED_TRACE(element_name(type));
      const std::size_t size = element_bytes(type);
      const std::vector<std::byte> out = converted(ElementType::f32, type, in, 16, scalar);
      const auto values = values_of<float>(in);
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::array<std::byte, 2> expected{};
        store_element(expected.data(), type, values[i]);
        ASSERT_EQ(std::memcmp(expected.data(), out.data() + i * size, size), 0) << values[i];
      }
    }
  }
  std::vector<std::int32_t> integers(512);
  std::iota(integers.begin(), integers.end(), -256);
  converted(ElementType::i32, ElementType::i8, bytes_of(integers), 16, false);
}

/// How the lanes' addresses lie.
enum class Address { consecutive, reversed, strided, scattered };

constexpr ElementType kStorages[] = {ElementType::boolean, ElementType::i8,   ElementType::i32,
                                     ElementType::i64,     ElementType::f32,  ElementType::f16,
                                     ElementType::bf16,    ElementType::e4m3, ElementType::e5m2};

/// Moves elements from and to such addresses, in all lanes or in two of three.
void move_elements(ElementType type, std::uint32_t width, Address form, std::uint32_t vector, bool masked,
                   std::int64_t offset) {
  KernelDraft draft(width, 1, {{type, Role::input}, {type, Role::output}});
  Builder b = draft.builder();
  const std::int64_t lanes = width;
  const ValueId lane = b.convert(b.lane(), ElementType::i64);
  const ValueId first = b.mul(b.threadgroup(), b.i64(lanes * 3 * vector));
  ValueId within = lane;
  if (form == Address::reversed) within = b.sub(b.i64(lanes - 1), lane);
  if (form == Address::strided) within = b.mul(lane, b.i64(3));
  if (form == Address::scattered) within = b.binary(Op::bit_xor, lane, b.i64(1));
  const ValueId at = b.add(b.add(first, b.i64(offset)), vector > 1 ? b.mul(within, b.i64(vector)) : within);
  const auto move = [&] { b.store(1, at, b.load(0, type, at, vector)); };
  if (masked)
    b.branch(b.binary(Op::ne, b.binary(Op::rem, b.lane(), b.i32(3)), b.i32(1)), move);
  else
    move();
  constexpr std::int64_t kGroups = 3;
  const auto elements = static_cast<std::size_t>(kGroups * lanes * 3 * vector + offset);
  // No NaN: what a copy through a register makes of its payload is not defined.
  std::vector<std::byte> in(elements * element_bytes(type));
  std::mt19937 random(3);
  for (std::size_t i = 0; i < elements; ++i) {
    std::byte* to = in.data() + i * element_bytes(type);
    const auto value = static_cast<std::int64_t>(random() % 251) - 125;
    if (is_float(type))
      store_element(to, type, static_cast<float>(value) / 8);
    else
      store_integer(to, type, type == ElementType::boolean ? value & 1 : value);
  }
  const auto after = run_everywhere(draft.module, {in, std::vector<std::byte>(in.size(), std::byte{0x5a})}, kGroups,
                                    static_cast<std::size_t>(offset) % 2 * element_bytes(type));
  if (!after.empty()) {
    EXPECT_NE(after[1], std::vector<std::byte>(in.size(), std::byte{0x5a}));
  }
}

TEST(JitMemory, EveryAddressFormAndMask) {
  for (const ElementType type : kStorages)
    for (const Address form : {Address::consecutive, Address::reversed, Address::strided, Address::scattered})
      for (const bool masked : {false, true}) {
        SCOPED_TRACE(std::string(element_name(type)) + " form " + std::to_string(static_cast<int>(form)) +
                     (masked ? " masked" : ""));
        move_elements(type, 8, form, 1, masked, 0);
        move_elements(type, 8, form, 1, masked, 5);
      }
}

TEST(JitMemory, VectorsOfOneLaneAndOtherWidths) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::i8})
    for (const std::uint32_t width : {4u, 16u, 32u})
      for (const bool masked : {false, true}) {
        SCOPED_TRACE(std::string(element_name(type)) + (masked ? " masked" : ""));
        move_elements(type, width, Address::consecutive, 1, masked, 3);
        move_elements(type, width, Address::consecutive, 4, masked, 3);
      }
}

TEST(JitMemory, OneAddressForAllLanes) {
  for (const ElementType type : kStorages) {
    SCOPED_TRACE(element_name(type));
    KernelDraft draft(8, 1, {{type, Role::input}, {type, Role::output}});
    Builder b = draft.builder();
    // Lanes 2 and 5 of group 0, none of group 1: there the address would lie outside.
    const ValueId inside = b.binary(Op::lt, b.threadgroup(), b.i64(1));
    const ValueId some = b.binary(Op::eq, b.binary(Op::rem, b.lane(), b.i32(3)), b.i32(2));
    const ValueId far = b.mul(b.threadgroup(), b.i64(std::int64_t{1} << 40));
    b.branch(b.binary(Op::bit_and, inside, some), [&] { b.store(1, far, b.load(0, type, far)); });
    const std::size_t size = element_bytes(type);
    std::vector<std::byte> in(size);
    is_float(type) ? store_element(in.data(), type, -1.5f) : store_integer(in.data(), type, 1);
    const auto after = run_everywhere(draft.module, {in, std::vector<std::byte>(size, std::byte{0x5a})}, 2);
    ASSERT_EQ(after.size(), 2u);
    EXPECT_EQ(after[0], after[1]);
  }
}

TEST(JitMemory, StreamingStoresWriteTheSame) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::i8})
    for (const std::uint32_t width : {4u, 8u, 16u, 64u}) {
      KernelDraft draft(width, 1, {{type, Role::input}, {type, Role::output}});
      Builder b = draft.builder();
      const ValueId at = global_lane(b, draft.kernel());
      b.store(1, at, b.load(0, type, at), 1, true);
      std::vector<std::byte> in(5 * width * element_bytes(type));
      for (std::size_t i = 0; i < in.size() / element_bytes(type); ++i) {
        std::byte* to = in.data() + i * element_bytes(type);
        const auto value = static_cast<std::int32_t>(i % 100);
        is_float(type) ? store_element(to, type, static_cast<float>(value)) : store_integer(to, type, value);
      }
      const auto after = run_everywhere(draft.module, {in, std::vector<std::byte>(in.size())}, 5);
      ASSERT_EQ(after.size(), 2u);
      EXPECT_EQ(after[1], in);
    }
}

}  // namespace
}  // namespace lanefold::verify

#endif
