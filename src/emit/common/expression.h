// A piece of source text that stands for a value, and how tightly it holds together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/element_type.h"

namespace lanefold::emit {

/// The strongest binding first, as C++ and its relatives have it.
enum class Strength : std::uint8_t {
  primary,  ///< a name, a literal, a call
  unary,
  product,
  sum,
  shift,
  relation,
  equality,
  bit_and,
  bit_xor,
  bit_or,
  both,    ///< &&
  either,  ///< ||
  choice,  ///< ?:
};

struct Expression {
  std::string text;
  ElementType type = ElementType::f32;  ///< of the value
  Strength strength = Strength::primary;
  bool is_literal = false;
  /// The value is an i64 and the text an `int` of the same value: arithmetic that may leave 32 bits has to widen it first.
  bool is_narrow = false;
};

/// The text, in parentheses where it binds more loosely than its place allows.
std::string inside(const Expression& expression, Strength loosest);
/// Whether the text is a name, a member or a literal: what may stand anywhere, any number of times.
bool is_simple(const Expression& expression);
/// left operator right, of operands that bind at least as tightly.
Expression infix(const Expression& left, std::string_view operation, const Expression& right, Strength strength,
                 ElementType type);

}  // namespace lanefold::emit
