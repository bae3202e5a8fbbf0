// The type rules of lane operations, shared by builder, verifier and parser.
#pragma once

#include <optional>
#include <span>

#include "base/element_type.h"
#include "lane/module.h"

namespace lanefold::lane {

/// Boolean, i32, i64 or f32: what a value can be.
bool is_register_type(ElementType type);
/// i32 or i64.
bool is_integer(ElementType type);
/// True of the operations whose single result type follows from the operands alone.
bool is_plain_arithmetic(Op op);
/// The result type of a plain arithmetic operation, or nothing where the operands do not suit it.
std::optional<ElementType> arithmetic_type(Op op, std::span<const ElementType> operands);
/// True where `convert` exists between the two types.
bool convertible(ElementType from, ElementType to);
/// True where `bitcast` exists between the two types.
bool bitcastable(ElementType from, ElementType to);
/// Bits of a constant of a type, with those above its width cleared.
std::uint64_t normal_bits(ElementType type, std::uint64_t bits);
/// The value of an i32 or i64 constant, sign-extended.
std::int64_t integer_value(ElementType type, std::uint64_t bits);
/// Register groups that a fold_lanes of `registers` groups over `bits` lane bits leaves.
std::size_t folded_registers(std::size_t registers, std::uint32_t bits);

}  // namespace lanefold::lane
