#include "emit/common/expression.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace lanefold::emit {

std::string inside(const Expression& expression, Strength loosest) {
  return expression.strength <= loosest ? expression.text : "(" + expression.text + ")";
}

bool is_simple(const Expression& expression) {
  if (expression.is_literal) return true;
  return std::all_of(expression.text.begin(), expression.text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

Expression infix(const Expression& left, std::string_view operation, const Expression& right, Strength strength,
                 ElementType type) {
  // The right operand of a subtraction or division binds more tightly than the left; so do all, for a reader's sake, in
  // the middle of bits, shifts and comparisons.
  const bool chains = strength == Strength::sum || strength == Strength::product || strength == Strength::both ||
                      strength == Strength::either;
  const auto tighter = static_cast<Strength>(static_cast<int>(strength) - 1);
  const auto unmixed = [&](const Expression& e) {
    const bool odd = e.strength >= Strength::shift && e.strength <= Strength::bit_or;
    return odd && e.strength != strength && strength >= Strength::shift && strength <= Strength::bit_or;
  };
  const auto side = [&](const Expression& e, Strength loosest) {
    return unmixed(e) ? "(" + e.text + ")" : inside(e, loosest);
  };
  return {.text = fmt::format("{} {} {}", side(left, chains ? strength : tighter), operation, side(right, tighter)),
          .type = type,
          .strength = strength};
}

}  // namespace lanefold::emit
