// What the tests of symbols share: short names for making expressions.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "machine/symbols.h"

namespace lanefold::machine {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline bool is_nan(Word word) { return (word & 0x7fffffffu) > 0x7f800000u; }

struct MachineSymbols : ::testing::Test {
  using Op = lane::Op;
  Symbols s;
  NodeId x = in(0), y = in(1), z = in(2);

  NodeId in(std::int64_t index) { return s.input("x", 4 * index, 4); }
  NodeId real(float value) { return s.constant(ElementType::f32, to_word(value)); }
  NodeId integer(std::int32_t value) { return s.constant(ElementType::i32, to_word(value)); }
  NodeId f(Op op, std::initializer_list<NodeId> operands) { return s.apply(op, ElementType::f32, operands); }
  NodeId i(Op op, std::initializer_list<NodeId> operands) { return s.apply(op, ElementType::i32, operands); }
  NodeId b(Op op, std::initializer_list<NodeId> operands) { return s.apply(op, ElementType::boolean, operands); }
  NodeId fold(Op op, const std::vector<NodeId>& elements) {
    NodeId total = elements[0];
    for (std::size_t k = 1; k < elements.size(); ++k) total = f(op, {total, elements[k]});
    return total;
  }
  std::vector<StoredByte> bytes(NodeId node, std::uint32_t first, std::uint32_t count) {
    std::vector<StoredByte> all;
    for (std::uint32_t k = 0; k < count; ++k) all.push_back({node, first + k});
    return all;
  }
  std::vector<StoredByte> together(std::vector<StoredByte> low, const std::vector<StoredByte>& high) {
    low.insert(low.end(), high.begin(), high.end());
    return low;
  }
};

}  // namespace lanefold::machine
