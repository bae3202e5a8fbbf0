// How tightly operators bind, for parser and printer.
#pragma once

#include "ir/program.h"

namespace lanefold::ir {

inline constexpr int kLevelOr = 1;
inline constexpr int kLevelAnd = 2;
inline constexpr int kLevelNot = 3;
inline constexpr int kLevelCompare = 4;
inline constexpr int kLevelSum = 5;
inline constexpr int kLevelProduct = 6;
inline constexpr int kLevelUnary = 7;
inline constexpr int kLevelApplication = 8;

/// The level of an infix operation with two operands; all but comparisons group from the left.
constexpr int infix_level(Op op) {
  switch (op) {
    case Op::logical_or: return kLevelOr;
    case Op::logical_and: return kLevelAnd;
    case Op::add:
    case Op::sub: return kLevelSum;
    case Op::mul:
    case Op::div: return kLevelProduct;
    default: return kLevelCompare;
  }
}

}  // namespace lanefold::ir
