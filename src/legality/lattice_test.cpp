#include "legality/lattice.h"

#include <set>

#include <gtest/gtest.h>

#include "base/random.h"

namespace lanefold::legality {
namespace {

Lattice made(std::int64_t address, std::int64_t element, std::initializer_list<Lattice::Axis> axes) {
  Lattice l;
  l.address = address;
  l.element = element;
  l.empty = false;
  for (const Lattice::Axis& axis : axes) l.add(axis.step, axis.size);
  return l;
}

/// Every byte, and whether one belongs to two elements.
struct Bytes {
  std::set<std::int64_t> all;
  bool twice = false;
};

Bytes bytes_of(const Lattice& l) {
  std::vector<std::int64_t> begins = {static_cast<std::int64_t>(l.address)};
  for (std::size_t a = 0; a < l.count; ++a) {
    std::vector<std::int64_t> next;
    for (const std::int64_t begin : begins)
      for (std::int64_t i = 0; i < l.axes[a].size; ++i)
        next.push_back(begin + i * static_cast<std::int64_t>(l.axes[a].step));
    begins = next;
  }
  Bytes bytes;
  for (const std::int64_t begin : begins)
    for (std::int64_t b = 0; b < l.element; ++b) bytes.twice = !bytes.all.insert(begin + b).second || bytes.twice;
  return bytes;
}

bool share(const Bytes& a, const Bytes& b) {
  for (const std::int64_t byte : a.all)
    if (b.all.contains(byte)) return true;
  return false;
}

TEST(Lattice, HeadsOfPaddedTokensAreApart) {
  // Two outputs [tokens, heads, width] of f32 whose heads take turns in tokens that end in padding.
  constexpr std::int64_t kToken = 8 * 2 * 64 + 24;
  const auto heads = [](std::int64_t address) {
    return made(address, 4, {{4, 16}, {4 * kToken, 1000}, {4 * 2 * 64, 8}});
  };
  EXPECT_FALSE(may_touch(heads(0), heads(4 * 64)));
  EXPECT_FALSE(may_touch(heads(0), heads(4 * 16)));
  EXPECT_TRUE(may_touch(heads(0), heads(4 * 15)));
  EXPECT_TRUE(may_touch(heads(0), heads(4 * kToken)));
  EXPECT_FALSE(may_touch_itself(heads(0)));
}

TEST(Lattice, NoElementsTouchNothing) {
  EXPECT_FALSE(may_touch(made(0, 4, {{4, 0}}), made(0, 4, {{4, 10}})));
  EXPECT_FALSE(may_touch_itself(made(0, 4, {{4, 0}, {0, 5}})));
  EXPECT_TRUE(may_touch_itself(made(0, 4, {{0, 5}})));
}

TEST(Lattice, AgreesWithEveryByte) {
  Random random(7);
  int touching = 0, twice = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto drawn = [&] {
      Lattice l = made(static_cast<std::int64_t>(random.below(60)), 1 << random.below(3), {});
      for (std::uint64_t axes = random.below(4); axes-- > 0;)
        l.add(static_cast<std::int64_t>(random.below(61)) - 30, static_cast<std::int64_t>(1 + random.below(4)));
      return l;
    };
    const Lattice a = drawn(), b = drawn();
    const Bytes of_a = bytes_of(a), of_b = bytes_of(b);
    ASSERT_EQ(may_touch(a, b), share(of_a, of_b)) << trial;
    ASSERT_EQ(may_touch_itself(a), of_a.twice) << trial;
    touching += may_touch(a, b);
    twice += of_a.twice;
  }
  EXPECT_GT(touching, kTrials / 5);
  EXPECT_LT(touching, kTrials * 4 / 5);
  EXPECT_GT(twice, kTrials / 10);
}

TEST(Lattice, TangledStridesEnd) {
  const auto tangled = [](std::int64_t address) {
    return made(address, 1, {{1000003, 1 << 20}, {1000033, 1 << 20}, {1000037, 1 << 20}, {1000039, 1 << 20}});
  };
  EXPECT_TRUE(may_touch(tangled(0), tangled(1)));
}

}  // namespace
}  // namespace lanefold::legality
