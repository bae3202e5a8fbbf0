// One line of the text form, read from left to right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/element_type.h"
#include "lane/module.h"

namespace lanefold::lane {

/// Ends a parse; caught in parse().
struct TextFault {
  Diagnostic diagnostic;
};

/// Reads words, numbers and signs of one line; blanks between them do not matter. Everything throws TextFault.
class TextCursor {
 public:
  TextCursor(std::string_view line, std::string_view file, std::uint32_t number)
      : line_(line), file_(file), number_(number) {}

  bool at_end();
  /// The next character after blanks; 0 at the end.
  char peek();
  /// Takes the sign if it comes next.
  bool eat(std::string_view sign);
  void expect(std::string_view sign);
  /// An identifier; the fault says what was wanted.
  std::string_view word(std::string_view wanted);
  /// The identifier that comes next, without taking it; empty if there is none.
  std::string_view peek_word();
  void keyword(std::string_view word);
  std::uint32_t number(std::string_view wanted);
  ElementType type();
  /// %N
  ValueId value();
  /// A constant of the type, as bits.
  std::uint64_t constant(ElementType type);
  void expect_end();
  [[noreturn]] void fail(Code code, std::string message, std::string hint);

 private:
  void skip();
  std::string_view token();

  std::string_view line_;
  std::string_view file_;
  std::uint32_t number_;
  std::size_t position_ = 0;
};

}  // namespace lanefold::lane
