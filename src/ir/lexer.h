// Cuts the text form into tokens.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace lanefold::ir {

struct Token {
  enum class Kind : std::uint8_t { name, number, symbol, newline, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< into the source
  Place place;

  bool is(std::string_view spelling) const { return (kind == Kind::name || kind == Kind::symbol) && text == spelling; }
};

/// The longest text that is read, in bytes.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;

/// The tokens of a text; the last one is `end`. Line ends inside parentheses and brackets are no tokens, nor are empty
/// lines. Columns count characters, not bytes.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file);

}  // namespace lanefold::ir
