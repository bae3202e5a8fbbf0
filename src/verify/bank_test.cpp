// Banks merge by the tree of their virtual lanes, whatever registers and lanes hold them.
#include "lower/bank.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "machine/test_machine.h"

namespace lanefold::verify {
namespace {

using lane::Builder;
using lane::ValueId;
using lower::BankShape;

/// 3a + 5b + ab: neither commutative nor associative, and every bit counts.
std::uint32_t merged(std::uint32_t a, std::uint32_t b) { return 3 * a + 5 * b + a * b; }

std::uint32_t tree(const std::vector<std::uint32_t>& values, std::size_t begin, std::size_t count) {
  if (count == 1) return values[begin];
  return merged(tree(values, begin, count / 2), tree(values, begin + count / 2, count / 2));
}

struct Shaped {
  lane::Module module;
  lower::FunctionTable functions{module};
  BankShape shape;

  Shaped(std::uint32_t width, const plan::Layout& layout) : shape(lower::bank_shape(layout)) {
    module.name = "m";
    lane::Function& f = module.functions.emplace_back();
    f.name = "merge";
    f.parameters = f.types = {ElementType::i32, ElementType::i32};
    Builder fb(f.types, f.body);
    f.returns = {fb.add(fb.add(fb.mul(0, fb.i32(3)), fb.mul(1, fb.i32(5))), fb.mul(0, 1))};
    lane::Kernel& kernel = module.kernels.emplace_back();
    kernel.name = "k";
    kernel.simd_width = width;
    kernel.arguments = {{"x", true, ElementType::i32, lane::Role::input, 0},
                        {"y", true, ElementType::i32, lane::Role::output, 0}};
  }
  /// Each register of each lane loads the element of its virtual lane.
  std::vector<std::vector<ValueId>> load(Builder& b) {
    const auto simd_bits = static_cast<std::uint32_t>(std::countr_zero(module.kernels[0].simd_width));
    const ValueId offset = b.convert(lower::lane_offset(shape, simd_bits, b), ElementType::i64);
    std::vector<std::vector<ValueId>> registers;
    for (const std::uint32_t from : shape.register_offsets)
      registers.push_back({b.load(0, ElementType::i32, b.add(offset, b.i64(from)))[0]});
    return registers;
  }
  std::vector<std::uint32_t> run(std::vector<std::uint32_t>& x, std::size_t outputs) {
    const auto faults = lane::verify(module);
    EXPECT_TRUE(faults.empty()) << (faults.empty() ? "" : faults[0].text());
    std::vector<std::uint32_t> y(outputs);
    const lane::ArgumentWord words[] = {{.pointer = x.data()}, {.pointer = y.data()}};
    const Status status = machine::run_plain(module, module.kernels[0], words, {std::ssize(x), std::ssize(y)});
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
    return y;
  }
};

std::vector<std::uint32_t> values(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint32_t>(i * 2654435761u + 12345);
  return all;
}

/// Every order of `lanes` lane bits and up to three register bits, after up to two component bits.
template <class Visit>
void every_layout(std::uint32_t lanes, Visit visit) {
  for (std::uint32_t components = 0; components <= 2; ++components)
    for (std::uint32_t registers = 0; registers <= 3; ++registers) {
      std::vector<bool> mixed(lanes + registers, false);
      std::fill(mixed.begin() + lanes, mixed.end(), true);
      do {
        plan::Layout layout;
        layout.bits.assign(components, plan::Owner::component);
        for (const bool in_register : mixed) layout.bits.push_back(in_register ? plan::Owner::reg : plan::Owner::lane);
        visit(layout);
      } while (std::next_permutation(mixed.begin(), mixed.end()));
    }
}

TEST(Bank, MergesByTheTreeOfVirtualLanesInEveryLayout) {
  for (const std::uint32_t lanes : {2u, 3u, 4u, 5u})
    every_layout(lanes, [&](const plan::Layout& layout) {
      Shaped s(1u << lanes, layout);
      const std::size_t count = std::size_t{1} << layout.bits.size();
      std::vector<std::uint32_t> x = values(count);
      Builder b(s.module.kernels[0].types, s.module.kernels[0].body);
      lower::Bank bank = lower::make_bank(s.shape, s.load(b));
      lower::merge_below(bank, static_cast<std::uint32_t>(layout.bits.size()), 0, b, s.functions);
      ASSERT_EQ(bank.registers.size(), 1u);
      b.store(1, b.convert(b.lane(), ElementType::i64), bank.registers[0]);
      for (const std::uint32_t y : s.run(x, std::size_t{1} << lanes)) ASSERT_EQ(y, tree(x, 0, count));
    });
}

TEST(Bank, MergesBlocksInEveryLayout) {
  for (const std::uint32_t lanes : {2u, 3u})
    every_layout(lanes, [&](const plan::Layout& layout) {
      for (std::uint32_t bits = 0; bits <= layout.bits.size(); ++bits) {
        Shaped s(1u << lanes, layout);
        const std::size_t count = std::size_t{1} << layout.bits.size(), block = std::size_t{1} << bits;
        std::vector<std::uint32_t> x = values(count);
        Builder b(s.module.kernels[0].types, s.module.kernels[0].body);
        std::vector<std::vector<ValueId>> registers = s.load(b);
        lower::merge_blocks(s.shape, registers, bits, 0, false, b, s.functions);
        const ValueId offset = b.convert(lower::lane_offset(s.shape, lanes, b), ElementType::i64);
        for (std::size_t r = 0; r < registers.size(); ++r)
          b.store(1, b.add(offset, b.i64(s.shape.register_offsets[r])), registers[r]);
        const std::vector<std::uint32_t> y = s.run(x, count);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(y[i], tree(x, i / block * block, block)) << i;
      }
    });
}

}  // namespace
}  // namespace lanefold::verify
