#include "ir/constant_folding.h"

#include <cmath>

namespace lanefold::ir {
namespace {

bool is_constant(const Value& value) { return value.op == Op::constant; }

/// The number, and for zero also its sign.
bool is_number(const Value& value, double number) {
  return is_constant(value) && value.literal == number && std::signbit(value.literal) == std::signbit(number);
}

std::optional<double> arithmetic(Op op, float a, float b) {
  switch (op) {
    case Op::add: return static_cast<double>(a + b);
    case Op::sub: return static_cast<double>(a - b);
    case Op::mul: return static_cast<double>(a * b);
    case Op::div: return static_cast<double>(a / b);
    default: return std::nullopt;
  }
}

std::optional<bool> comparison(Op op, double a, double b) {
  switch (op) {
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::eq: return a == b;
    case Op::ne: return a != b;
    case Op::logical_and: return a != 0 && b != 0;
    case Op::logical_or: return a != 0 || b != 0;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<ValueId> operand_in_its_place(const Value& value, const std::vector<Value>& values) {
  const auto operand = [&](std::size_t i) -> const Value& { return values[value.operands[i]]; };
  const bool whole = value.type == ElementType::i32;
  switch (value.op) {
    case Op::mul:
      if (is_number(operand(1), 1)) return value.operands[0];
      if (is_number(operand(0), 1)) return value.operands[1];
      return std::nullopt;
    case Op::div: return is_number(operand(1), 1) ? std::optional(value.operands[0]) : std::nullopt;
    case Op::add: {
      const double nothing = whole ? 0.0 : -0.0;
      if (is_number(operand(1), nothing)) return value.operands[0];
      if (is_number(operand(0), nothing)) return value.operands[1];
      return std::nullopt;
    }
    case Op::sub: return is_number(operand(1), 0) ? std::optional(value.operands[0]) : std::nullopt;
    case Op::select:
      if (!is_constant(operand(0))) return std::nullopt;
      return value.operands[operand(0).literal != 0 ? 1 : 2];
    case Op::logical_and:
    case Op::logical_or: {
      const bool neutral = value.op == Op::logical_and;
      if (is_constant(operand(0)) && (operand(0).literal != 0) == neutral) return value.operands[1];
      if (is_constant(operand(1)) && (operand(1).literal != 0) == neutral) return value.operands[0];
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<double> constant_of(const Value& value, const std::vector<Value>& values) {
  const auto operand = [&](std::size_t i) -> const Value& { return values[value.operands[i]]; };
  if (value.op == Op::logical_and || value.op == Op::logical_or) {
    // One operand may decide alone.
    for (std::size_t i = 0; i < 2; ++i) {
      const bool decides = value.op == Op::logical_or;
      if (is_constant(operand(i)) && (operand(i).literal != 0) == decides) return decides ? 1 : 0;
    }
  }
  if (value.operands.empty() || value.op == Op::gather) return std::nullopt;
  for (std::size_t i = 0; i < value.operands.size(); ++i) {
    if (!is_constant(operand(i))) return std::nullopt;
  }
  const double a = operand(0).literal;
  switch (value.op) {
    case Op::logical_not: return a == 0 ? 1 : 0;
    case Op::neg: return value.type == ElementType::f32 ? std::optional(-a) : std::nullopt;
    case Op::convert:
      if (value.type != ElementType::f32) return std::nullopt;
      return static_cast<double>(static_cast<float>(a));
    default: break;
  }
  if (value.operands.size() != 2) return std::nullopt;
  const double b = operand(1).literal;
  if (const std::optional<bool> truth = comparison(value.op, a, b)) return *truth ? 1 : 0;
  if (value.type != ElementType::f32) return std::nullopt;
  return arithmetic(value.op, static_cast<float>(a), static_cast<float>(b));
}

}  // namespace lanefold::ir
