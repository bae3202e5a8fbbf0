#include "machine/symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "machine/arithmetic.h"
#include "machine/memory.h"
#include "machine/test_symbols.h"

namespace lanefold::machine {
namespace {

using enum ElementType;

constexpr Word kNan = 0x7fc00000u;

TEST_F(MachineSymbols, SumsAndProductsCommuteButAreNotRegrouped) {
  EXPECT_EQ(f(Op::add, {x, y}), f(Op::add, {y, x}));
  EXPECT_EQ(f(Op::mul, {x, y}), f(Op::mul, {y, x}));
  EXPECT_EQ(f(Op::fma, {x, y, z}), f(Op::fma, {y, x, z}));
  EXPECT_NE(f(Op::fma, {x, y, z}), f(Op::fma, {x, z, y}));
  EXPECT_NE(f(Op::sub, {x, y}), f(Op::sub, {y, x}));
  EXPECT_NE(f(Op::div, {x, y}), f(Op::div, {y, x}));
  EXPECT_NE(f(Op::lt, {x, y}), f(Op::gt, {y, x}));
  EXPECT_NE(f(Op::eq, {x, y}), f(Op::eq, {y, x}));
  EXPECT_NE(f(Op::add, {f(Op::add, {x, y}), z}), f(Op::add, {x, f(Op::add, {y, z})}));
  EXPECT_NE(f(Op::mul, {f(Op::mul, {x, y}), z}), f(Op::mul, {x, f(Op::mul, {y, z})}));
  EXPECT_NE(f(Op::add, {f(Op::mul, {x, y}), z}), f(Op::fma, {x, y, z}));
  EXPECT_NE(f(Op::add, {x, y}), f(Op::mul, {x, y}));
  EXPECT_NE(f(Op::sub, {x, y}), f(Op::add, {x, f(Op::neg, {y})}));
  EXPECT_NE(i(Op::add, {x, y}), i(Op::add, {y, x}));  // integers are no part of the rule
  EXPECT_NE(i(Op::add, {x, y}), f(Op::add, {x, y}));
}

TEST_F(MachineSymbols, NeutralOperandsAreDropped) {
  EXPECT_EQ(f(Op::add, {x, real(-0.0f)}), x);
  EXPECT_EQ(f(Op::add, {real(-0.0f), x}), x);
  EXPECT_EQ(f(Op::mul, {x, real(1)}), x);
  EXPECT_EQ(f(Op::mul, {real(1), x}), x);
  EXPECT_EQ(f(Op::fma, {x, y, real(-0.0f)}), f(Op::mul, {x, y}));
  EXPECT_EQ(f(Op::fma, {x, real(1), real(-0.0f)}), x);
  EXPECT_NE(f(Op::add, {x, real(0)}), x);
  EXPECT_NE(f(Op::sub, {x, real(0)}), x);
  EXPECT_NE(f(Op::sub, {x, real(-0.0f)}), x);
  EXPECT_NE(f(Op::mul, {x, real(-1)}), x);
  EXPECT_NE(f(Op::mul, {x, real(0)}), real(0));
  EXPECT_NE(f(Op::div, {x, real(1)}), x);
  EXPECT_NE(f(Op::fma, {x, y, real(0)}), f(Op::mul, {x, y}));
  EXPECT_NE(f(Op::fma, {x, real(1), y}), f(Op::add, {x, y}));
  EXPECT_NE(i(Op::mul, {x, integer(1)}), x);
  EXPECT_NE(i(Op::mul, {x, real(1)}), x);  // the bits of 1.0, as an integer
  EXPECT_NE(i(Op::add, {x, real(-0.0f)}), x);
}

TEST_F(MachineSymbols, ConstantsAreComputed) {
  EXPECT_EQ(f(Op::add, {real(1), real(2)}), real(3));
  EXPECT_EQ(f(Op::fma, {real(3), real(4), real(5)}), real(17));
  EXPECT_EQ(f(Op::max, {real(-0.0f), real(0)}), real(0));
  EXPECT_EQ(s.constant_bits(f(Op::lt, {real(1), real(2)})), Word{1});
  EXPECT_EQ(i(Op::sub, {integer(1), integer(3)}), integer(-2));
  EXPECT_EQ(s.apply(Op::mul, i64, std::array{s.constant(i64, 1u << 20), s.constant(i64, 1u << 20)}),
            s.constant(i64, Word{1} << 40));
  EXPECT_EQ(s.convert(f32, i32, real(-2.5f)), integer(-2));
  EXPECT_EQ(s.convert(i32, i64, integer(-1)), s.constant(i64, ~Word{0}));
  EXPECT_EQ(s.bitcast(f32, i32, real(1)), integer(0x3f800000));
  EXPECT_EQ(s.constant_bits(integer(-1)), Word{0xffffffffu});
  EXPECT_FALSE(s.constant_bits(f(Op::add, {x, real(1)})).has_value());
  // Outside their domain they stay as they are, and alike.
  const NodeId division = i(Op::div, {integer(1), integer(0)});
  EXPECT_FALSE(s.constant_bits(division).has_value());
  EXPECT_EQ(division, i(Op::div, {integer(1), integer(0)}));
  EXPECT_NE(division, i(Op::rem, {integer(1), integer(0)}));
  EXPECT_FALSE(s.constant_bits(i(Op::shift_left, {integer(1), integer(32)})).has_value());
  EXPECT_FALSE(s.constant_bits(s.call("exp", std::array{real(0)}, 0, f32)).has_value());
}

TEST_F(MachineSymbols, ConstantsAreWhatTheMachineComputes) {
  std::mt19937 random(20240613);
  const std::vector<Op> all{Op::neg, Op::abs, Op::sqrt, Op::trunc, Op::canonical_nan,
                            Op::add, Op::sub, Op::mul,  Op::div,   Op::min,
                            Op::max, Op::eq,  Op::lt,   Op::ge,    Op::fma};
  for (int n = 0; n < 20000; ++n) {
    const Op op = all[random() % all.size()];
    const std::array<Word, 3> words{random(), random(), random()};
    std::vector<NodeId> operands;
    for (int k = 0; k < lane::op_operands(op); ++k)
      operands.push_back(s.constant(f32, words[static_cast<std::size_t>(k)]));
    Word expected = 0;
    compute(op, f32, {.width = 1, .mask = 1, .a = &words[0], .b = &words[1], .c = &words[2], .out = &expected});
    const NodeId node = s.apply(op, f32, operands);
    const Word bits = s.constant_bits(node).value();
    if (is_nan(bits) && is_nan(expected) && bits != expected) {
      EXPECT_TRUE(s.payload_may_differ(node)) << lane::op_name(op);
    } else {
      EXPECT_EQ(bits, expected) << lane::op_name(op);
    }
  }
  for (const ElementType storage : {boolean, i8, i32, i64, f32, f16, bf16, e4m3, e5m2}) {
    const ElementType loaded = register_type(storage);
    for (int n = 0; n < 1000; ++n) {
      const Word bits = storage == boolean ? random() & 1 : loaded == i64 ? Word{random()} << 32 | random() : random();
      std::array<std::byte, 8> memory{};
      store_word(memory.data(), storage, bits);
      const NodeId stored = s.narrow(storage, s.constant(loaded, bits));
      std::uint64_t stored_bits = 0;
      std::memcpy(&stored_bits, memory.data(), element_bytes(storage));
      EXPECT_EQ(s.constant_bits(stored), stored_bits) << element_name(storage);
      EXPECT_EQ(s.constant_bits(s.widen(storage, stored)), load_word(memory.data(), storage)) << element_name(storage);
    }
  }
}

TEST_F(MachineSymbols, SelectsAndCasts) {
  const NodeId yes = s.constant(boolean, 1), no = s.constant(boolean, 0), less = f(Op::lt, {x, y});
  EXPECT_EQ(f(Op::select, {yes, x, y}), x);
  EXPECT_EQ(f(Op::select, {no, x, y}), y);
  EXPECT_NE(f(Op::select, {less, x, y}), f(Op::select, {less, y, x}));
  EXPECT_NE(f(Op::select, {less, x, x}), x);
  EXPECT_EQ(s.bitcast(i32, f32, s.bitcast(f32, i32, x)), x);
  EXPECT_NE(s.bitcast(f32, i32, x), s.bitcast(i32, f32, x));
  EXPECT_NE(s.convert(f32, i32, s.convert(i32, f32, x)), x);
  EXPECT_NE(s.convert(i32, f32, x), s.bitcast(i32, f32, x));
  const NodeId wide = s.input("n", 0, 8);
  EXPECT_NE(s.convert(i64, f32, wide), s.convert(i32, f32, x));
  EXPECT_NE(s.convert(i32, i64, s.convert(i64, i32, wide)), wide);
}

TEST_F(MachineSymbols, NamesAndArguments) {
  EXPECT_EQ(s.argument("eps", f32), s.argument("eps", f32));
  EXPECT_NE(s.argument("eps", f32), s.argument("scale", f32));
  EXPECT_EQ(s.input("x", 0, 4), x);
  EXPECT_NE(s.input("w", 0, 4), x);
  EXPECT_NE(s.input("x", std::int64_t{1} << 32, 4), x);
  EXPECT_NE(s.input("x", 0, 2), x);
  const NodeId call = s.call("merge", std::array{x, y}, 0, f32);
  EXPECT_EQ(call, s.call("merge", std::array{x, y}, 0, f32));
  EXPECT_NE(call, s.call("merge", std::array{y, x}, 0, f32));
  EXPECT_NE(call, s.call("merge", std::array{x, y}, 1, f32));
  EXPECT_NE(call, s.call("merged", std::array{x, y}, 0, f32));
  EXPECT_NE(call, s.call("merge", std::array{x, y, z}, 0, f32));
}

TEST_F(MachineSymbols, SetsKeepHowOftenAnElementIsIn) {
  const NodeId all = f(Op::max, {f(Op::max, {x, y}), z});
  EXPECT_EQ(all, f(Op::max, {x, f(Op::max, {z, y})}));
  EXPECT_NE(f(Op::max, {x, x}), x);
  EXPECT_NE(f(Op::max, {all, x}), all);
  EXPECT_EQ(f(Op::max, {all, x}), f(Op::max, {f(Op::max, {x, x}), f(Op::max, {y, z})}));
  EXPECT_NE(f(Op::max, {all, x}), f(Op::max, {all, y}));
  EXPECT_NE(all, f(Op::min, {f(Op::min, {x, y}), z}));
  // An inner minimum is one element of the maximum.
  const NodeId inner = f(Op::min, {x, y});
  EXPECT_NE(f(Op::max, {inner, z}), f(Op::min, {x, f(Op::max, {y, z})}));
  const NodeId p = f(Op::lt, {x, y}), q = f(Op::lt, {y, z}), r = f(Op::lt, {x, z});
  EXPECT_EQ(b(Op::bit_and, {p, b(Op::bit_and, {q, r})}), b(Op::bit_and, {b(Op::bit_and, {r, p}), q}));
  EXPECT_EQ(b(Op::bit_or, {p, b(Op::bit_or, {q, r})}), b(Op::bit_or, {b(Op::bit_or, {r, p}), q}));
  EXPECT_NE(b(Op::bit_or, {p, b(Op::bit_and, {q, r})}), b(Op::bit_and, {b(Op::bit_or, {p, q}), r}));
  EXPECT_NE(b(Op::bit_xor, {p, q}), b(Op::bit_xor, {q, p}));
  for (const Op op : {Op::max, Op::min, Op::bit_and, Op::bit_or}) {
    EXPECT_NE(i(op, {x, y}), i(op, {y, x}));
    EXPECT_NE(i(op, {i(op, {x, y}), z}), i(op, {x, i(op, {y, z})}));
  }
  // Constants are elements like others.
  EXPECT_EQ(f(Op::max, {f(Op::max, {x, real(1)}), real(2)}), f(Op::max, {f(Op::max, {real(2), x}), real(1)}));
  EXPECT_NE(f(Op::max, {f(Op::max, {x, real(1)}), real(2)}), f(Op::max, {x, f(Op::max, {real(1), real(2)})}));
}

TEST_F(MachineSymbols, SetsOfThousandsMeetWhateverTheTree) {
  const std::uint32_t seed = 4711;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<NodeId> elements;
  for (int n = 0; n < 5000; ++n) elements.push_back(in(static_cast<std::int64_t>(random() % 3000)));
  const NodeId serial = fold(Op::max, elements);
  for (int round = 0; round < 5; ++round) {
    std::vector<NodeId> left = elements;
    while (left.size() > 1) {  // two at random become one
      for (const int side : {0, 1})
        std::swap(left[random() % (left.size() - static_cast<std::size_t>(side))],
                  left[left.size() - 1 - static_cast<std::size_t>(side)]);
      const NodeId one = left.back();
      left.pop_back();
      left.back() = f(Op::max, {left.back(), one});
    }
    EXPECT_EQ(left[0], serial);
  }
  std::vector<NodeId> shuffled = elements;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  EXPECT_EQ(fold(Op::max, shuffled), serial);
  EXPECT_TRUE(s.payload_may_differ(serial));
  shuffled[17] = in(3000);
  EXPECT_NE(fold(Op::max, shuffled), serial);
  // One more of an element and one fewer of another: as many, of the same, but not as often.
  shuffled[17] = elements[0] == elements[1] ? in(3001) : elements[0];
  std::vector<NodeId> other = elements;
  std::replace(other.begin(), other.begin() + 2, elements[1], elements[0]);
  EXPECT_EQ(fold(Op::max, other) == serial, elements[0] == elements[1]);

  for (int n = 0; n < 3000; ++n) {
    const bool inside = std::ranges::find(elements, in(n)) != elements.end();
    EXPECT_EQ(s.max_contains(serial, in(n)), inside);
  }
}

TEST_F(MachineSymbols, SetsOfMoreElementsThanCanBeCounted) {
  NodeId twice = x, again = x;
  for (int n = 0; n < 80; ++n) {
    twice = f(Op::max, {twice, twice});
    again = f(Op::max, {again, again});
  }
  EXPECT_EQ(twice, again);
  EXPECT_NE(f(Op::max, {twice, y}), twice);
  EXPECT_TRUE(s.max_contains(twice, x));
  EXPECT_FALSE(s.max_contains(twice, y));
  EXPECT_NE(f(Op::max, {f(Op::max, {twice, y}), z}), f(Op::max, {f(Op::max, {twice, z}), z}));
}

TEST_F(MachineSymbols, MaximumContains) {
  const NodeId both = f(Op::max, {x, y});
  EXPECT_TRUE(s.max_contains(both, x));
  EXPECT_TRUE(s.max_contains(f(Op::max, {both, z}), y));
  EXPECT_TRUE(s.max_contains(x, x));
  EXPECT_FALSE(s.max_contains(both, z));
  EXPECT_FALSE(s.max_contains(f(Op::min, {x, y}), x));
  EXPECT_FALSE(s.max_contains(i(Op::max, {x, y}), x));
  EXPECT_FALSE(s.max_contains(f(Op::max, {f(Op::min, {x, y}), z}), x));
}

TEST_F(MachineSymbols, Text) {
  EXPECT_EQ(s.text(f(Op::add, {x, f(Op::mul, {y, real(0.5f)})}), 9), "(x[0] + (x[1] * 0.5))");
  EXPECT_EQ(s.text(f(Op::max, {f(Op::max, {x, y}), z}), 9), "max(x[0], x[1], x[2])");
  EXPECT_EQ(s.text(f(Op::sub, {x, real(-0.0f)}), 9), "(x[0] - -0)");
  EXPECT_EQ(s.text(s.constant(f32, kNan), 9), "nan(0x7fc00000)");
  EXPECT_EQ(s.text(i(Op::add, {x, integer(-3)}), 9), "(x[0] + -3)");
  EXPECT_EQ(s.text(s.input("x", 6, 4), 9), "x@6:4");
  EXPECT_EQ(s.text(s.narrow(f16, s.widen(bf16, s.input("h", 64, 2))), 9), "store_f16(load_bf16(h[32]))");
  EXPECT_EQ(s.text(s.call("merge", std::array{x, s.argument("eps", f32)}, 1, f32), 9), "merge(x[0], eps).1");
  EXPECT_EQ(s.text(s.convert(i32, f32, x), 9), "f32(x[0])");
  EXPECT_EQ(s.text(s.join(bytes(f(Op::sqrt, {x}), 1, 2)), 9), "bytes(sqrt(x[0]).1, sqrt(x[0]).2)");
  EXPECT_EQ(s.text(f(Op::add, {x, f(Op::sqrt, {f(Op::abs, {y})})}), 2), "(x[0] + sqrt(…))");
  EXPECT_EQ(s.text(f(Op::add, {x, y}), 0), "…");
  NodeId doubled = x;
  for (int n = 0; n < 5000; ++n) doubled = f(Op::sub, {doubled, doubled});
  EXPECT_LE(s.text(doubled, 4000000).size(), 2100u);
  std::vector<NodeId> many;
  for (int n = 0; n < 5000; ++n) many.push_back(in(n));
  EXPECT_EQ(s.text(fold(Op::min, many), 3),
            "min(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], …)");
}

TEST_F(MachineSymbols, FirstDifference) {
  using Pair = std::pair<NodeId, NodeId>;
  const NodeId w = in(9);
  EXPECT_EQ(s.first_difference(x, y), Pair(x, y));
  EXPECT_EQ(s.first_difference(f(Op::sqrt, {x}), f(Op::sqrt, {y})), Pair(x, y));
  EXPECT_EQ(s.first_difference(f(Op::sub, {x, z}), f(Op::sub, {x, y})), Pair(z, y));
  EXPECT_EQ(s.first_difference(f(Op::add, {x, z}), f(Op::add, {z, y})), Pair(x, y));  // z is common
  EXPECT_EQ(s.first_difference(f(Op::sqrt, {x}), f(Op::abs, {x})), Pair(f(Op::sqrt, {x}), f(Op::abs, {x})));
  const NodeId a = f(Op::max, {f(Op::max, {x, f(Op::sqrt, {y})}), z}),
               c = f(Op::max, {f(Op::max, {z, x}), f(Op::sqrt, {w})});
  EXPECT_EQ(s.first_difference(a, c), Pair(y, w));
  const NodeId two = f(Op::max, {f(Op::max, {z, w}), f(Op::sqrt, {w})});
  EXPECT_EQ(s.first_difference(a, two), Pair(a, two));
  // Two operands differ in kind: what is to be shown is the sum.
  const NodeId roots = f(Op::add, {f(Op::sqrt, {x}), f(Op::sqrt, {y})});
  const NodeId others = f(Op::add, {f(Op::abs, {x}), f(Op::abs, {y})});
  EXPECT_EQ(s.first_difference(roots, others), Pair(roots, others));
  EXPECT_EQ(s.first_difference(f(Op::sqrt, {roots}), f(Op::sqrt, {others})), Pair(roots, others));
  NodeId left = x, right = y;
  for (int n = 0; n < 20000; ++n) {
    left = f(Op::sub, {left, left});
    right = f(Op::sub, {right, right});
  }
  EXPECT_EQ(s.first_difference(left, right), Pair(x, y));
  EXPECT_EQ(s.first_difference(left, left), Pair(left, left));
}

TEST_F(MachineSymbols, MisuseIsOurOwnFault) {
  EXPECT_THROW(f(Op::add, {x, s.input("h", 0, 2)}), InternalError);
  EXPECT_THROW(f(Op::add, {x}), InternalError);
  EXPECT_THROW(f(Op::select, {s.input("m", 0, 1), x, y}), InternalError);
  EXPECT_THROW(f(Op::convert, {x}), InternalError);
  EXPECT_THROW(s.widen(f16, x), InternalError);
  EXPECT_THROW(s.narrow(boolean, s.input("m", 0, 1)), InternalError);
  EXPECT_THROW(s.join({}), InternalError);
  EXPECT_THROW(s.join(std::array{StoredByte{x, 4}}), InternalError);
  EXPECT_THROW(s.constant(f16, 0), InternalError);
}

}  // namespace
}  // namespace lanefold::machine
