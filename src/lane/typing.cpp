#include "lane/typing.h"

namespace lanefold::lane {

bool is_register_type(ElementType type) {
  return type == ElementType::boolean || type == ElementType::i32 || type == ElementType::i64 ||
         type == ElementType::f32;
}

bool is_integer(ElementType type) { return type == ElementType::i32 || type == ElementType::i64; }

bool is_plain_arithmetic(Op op) { return op >= Op::neg && op <= Op::select && op != Op::convert && op != Op::bitcast; }

std::optional<ElementType> arithmetic_type(Op op, std::span<const ElementType> operands) {
  if (!is_plain_arithmetic(op) || operands.size() != static_cast<std::size_t>(op_operands(op))) return std::nullopt;
  const ElementType first = operands[0];
  if (!is_register_type(first)) return std::nullopt;
  if (op == Op::select) {
    if (first != ElementType::boolean || operands[1] != operands[2] || !is_register_type(operands[1])) {
      return std::nullopt;
    }
    return operands[1];
  }
  for (const ElementType type : operands) {
    if (type != first) return std::nullopt;
  }
  const bool number = first != ElementType::boolean;
  const bool real = first == ElementType::f32;
  const auto when = [](bool suits, ElementType type) { return suits ? std::optional(type) : std::nullopt; };
  switch (op) {
    case Op::abs:
    case Op::sqrt:
    case Op::trunc:
    case Op::canonical_nan:
    case Op::fma: return when(real, first);
    case Op::bit_not:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor: return when(!real, first);
    case Op::rem:
    case Op::shift_left:
    case Op::shift_right: return when(is_integer(first), first);
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge: return when(number, ElementType::boolean);
    default: return when(number, first);
  }
}

bool convertible(ElementType from, ElementType to) {
  switch (from) {
    case ElementType::f32: return to == ElementType::i32;
    case ElementType::i32: return to == ElementType::f32 || to == ElementType::i64;
    case ElementType::i64: return to == ElementType::f32 || to == ElementType::i32;
    case ElementType::boolean: return to == ElementType::i32;
    default: return false;
  }
}

bool bitcastable(ElementType from, ElementType to) {
  return (from == ElementType::f32 && to == ElementType::i32) || (from == ElementType::i32 && to == ElementType::f32);
}

std::uint64_t normal_bits(ElementType type, std::uint64_t bits) {
  switch (type) {
    case ElementType::boolean: return bits != 0 ? 1 : 0;
    case ElementType::i64: return bits;
    default: return bits & 0xffffffffu;
  }
}

std::int64_t integer_value(ElementType type, std::uint64_t bits) {
  if (type == ElementType::i32) return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  return static_cast<std::int64_t>(bits);
}

std::size_t folded_registers(std::size_t registers, std::uint32_t bits) {
  for (std::uint32_t bit = 0; bit < bits && registers > 1; ++bit) registers /= 2;
  return registers;
}

}  // namespace lanefold::lane
