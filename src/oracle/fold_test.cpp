// Folds on numbers, against independent recursions.
#include "oracle/fold.h"

#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "oracle/test_program.h"

namespace lanefold::oracle {
namespace {

using testing::bits;
using testing::Case;

struct Affine {
  float a, b;
  Affine then(Affine next) const { return {a * next.a, next.a * b + next.b}; }
};

/// State s of the canonical tree that covers places [first, first + size), by recursion from the top.
template <class State, class Merge>
std::optional<State> tree(std::int64_t first, std::int64_t size,
                          const std::function<std::optional<State>(std::int64_t)>& leaf, const Merge& merge) {
  if (size == 1) return leaf(first);
  const auto left = tree<State>(first, size / 2, leaf, merge);
  const auto right = tree<State>(first + size / 2, size / 2, leaf, merge);
  return right ? std::optional<State>(merge(*left, *right)) : left;
}

/// The canonical fold of elements 0 … n − 1 written as DESIGN says it.
template <class State, class Element, class Merge>
State canonical_fold(std::int64_t n, const Element& element, const Merge& merge) {
  const std::int64_t length = ir::CanonicalOrder::segment, lanes = ir::CanonicalOrder::virtual_lanes(n);
  std::int64_t places = 1;
  while (places * length < n) places *= 2;
  return *tree<State>(
      0, places,
      [&](std::int64_t s) {
        return tree<State>(
            0, lanes,
            [&](std::int64_t v) {
              std::optional<State> state;
              for (std::int64_t e = s * length + v; e < std::min(n, (s + 1) * length); e += lanes)
                state = state ? merge(*state, element(e)) : element(e);
              return state;
            },
            merge);
      },
      merge);
}

TEST(Fold, CanonicalSumsEqualADirectRecursion) {
  for (std::int64_t n : {1, 2, 31, 32, 33, 127, 1000, 33000, 70000}) {
    Case c(2, n);
    const std::vector<double> x = testing::varied_numbers(2 * n, 7);
    c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.input("x", x)}));
    const std::vector<float> sums = c.exact();
    for (std::int64_t row = 0; row < 2; ++row) {
      const float expected = canonical_fold<float>(
          n, [&](std::int64_t e) { return static_cast<float>(x[static_cast<std::size_t>(row * n + e)]); },
          [](float a, float b) { return a + b; });
      EXPECT_EQ(bits(sums[static_cast<std::size_t>(row)]), bits(expected)) << n;
    }
  }
}

TEST(Fold, SerialSumsAreLeftFolds) {
  const std::int64_t n = 1000;
  Case c(1, n);
  const std::vector<double> x = testing::varied_numbers(n, 3);
  c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.input("x", x)}));
  float expected = static_cast<float>(x[0]);
  double in_double = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) expected += static_cast<float>(x[i]), in_double += x[i];
  EXPECT_EQ(bits(c.exact(ir::Order::serial)[0]), bits(expected));
  EXPECT_NE(bits(c.exact(ir::Order::canonical)[0]), bits(expected));
  EXPECT_EQ(c.fp64()[0], in_double);
}

TEST(Fold, KeepsTheSignOfASumOfNegativeZeros) {
  for (std::int64_t n : {1, 2, 31, 32, 33}) {
    Case c(1, n);
    c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.input("x", std::vector<double>(n, -0.0))}));
    EXPECT_EQ(bits(c.exact(ir::Order::canonical)[0]), bits(-0.0f)) << n;
    EXPECT_EQ(bits(c.exact(ir::Order::serial)[0]), bits(-0.0f)) << n;
    EXPECT_TRUE(std::signbit(c.fp64()[0]));
  }
}

TEST(Fold, ComposesAUsersMonoidLeftToRight) {
  for (std::int64_t n : {1, 2, 31, 32, 33, 127, 1000, 33000}) {
    Case c(1, n);
    std::vector<double> a = testing::varied_numbers(n, 5), b = testing::varied_numbers(n, 6);
    for (double& x : a) x = x < 0 ? -1 : 1;  // keeps products in range
    const ir::ValueId first = c.fold(testing::affine_monoid(), {c.input("a", a), c.input("b", b)});
    const ir::ValueId second = c.write().add(ir::Op::fold_result, ElementType::f32, testing::kRow, {}, 0, 1);
    c.store("y", first);
    c.store("z", second);
    const auto element = [&](std::int64_t e) {
      return Affine{static_cast<float>(a[static_cast<std::size_t>(e)]),
                    static_cast<float>(b[static_cast<std::size_t>(e)])};
    };
    const auto merge = [](Affine l, Affine r) { return l.then(r); };
    const auto expected = canonical_fold<Affine>(n, element, merge);
    EXPECT_EQ(bits(c.exact(ir::Order::canonical, 0)[0]), bits(expected.a)) << n;
    EXPECT_EQ(bits(c.exact(ir::Order::canonical, 1)[0]), bits(expected.b)) << n;
    Affine serial = element(0);
    for (std::int64_t e = 1; e < n; ++e) serial = serial.then(element(e));
    EXPECT_EQ(bits(c.exact(ir::Order::serial, 1)[0]), bits(serial.b)) << n;
  }
}

TEST(Fold, FoldsBlocksByAscendingPairs) {
  const std::int64_t n = 96, block = 32;
  Case c(1, n);
  const std::vector<double> x = testing::varied_numbers(n, 9);
  c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.input("x", x)}, block));
  const std::vector<float> canonical = c.exact(), serial = c.exact(ir::Order::serial);
  const std::vector<double> reference = c.fp64();
  ASSERT_EQ(canonical.size(), 3u);
  for (std::int64_t b = 0; b < 3; ++b) {
    const auto at = static_cast<std::size_t>(b);
    const auto leaf = [&](std::int64_t e) {
      return std::optional(static_cast<float>(x[static_cast<std::size_t>(b * block + e)]));
    };
    EXPECT_EQ(bits(canonical[at]), bits(*tree<float>(0, block, leaf, [](float l, float r) { return l + r; })));
    float left = *leaf(0);
    double in_double = static_cast<double>(left);
    for (std::int64_t e = 1; e < block; ++e) left += *leaf(e), in_double += static_cast<double>(*leaf(e));
    EXPECT_EQ(bits(serial[at]), bits(left));
    EXPECT_EQ(reference[at], in_double);
  }
}

TEST(Fold, TakesValuesThatDoNotVary) {
  Case c(1, 10);
  c.input("x", testing::varied_numbers(10, 1));
  c.store("y", c.fold(testing::plain_monoid(ir::Op::add), {c.write().constant(0.5)}));
  EXPECT_EQ(c.exact()[0], 5.0f);
  EXPECT_EQ(c.exact(ir::Order::serial)[0], 5.0f);
}

TEST(Fold, RefusesAMonoidThatLosesItsState) {
  ir::Monoid broken = testing::plain_monoid(ir::Op::add);
  broken.merge.results.clear();
  Case c(1, 2);
  c.store("y", c.fold(broken, {c.input("x", {1, 2})}));
  EXPECT_THROW(c.fp64(), InternalError);
}

}  // namespace
}  // namespace lanefold::oracle
