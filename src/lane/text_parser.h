// The parser of the text form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lane/module.h"
#include "lane/text_cursor.h"

namespace lanefold::lane {

class TextParser {
 public:
  TextParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// Throws TextFault.
  Module run();

 private:
  /// Moves on to the next line that holds more than a comment; false at the end of the text.
  bool next_line();
  TextCursor& cursor() { return *cursor_; }

  void parse_function();
  void parse_kernel();
  bool parse_declaration(Kernel& kernel);
  void parse_argument(Kernel& kernel, bool buffer);
  void parse_launch(Kernel& kernel);
  void parse_shape(Argument& argument);
  /// Statements up to a line that begins with none of theirs; that line stays current.
  void parse_block(std::vector<Statement>& block, std::size_t depth);
  void parse_loop(Statement& s, std::size_t depth);
  void parse_branch(Statement& s, std::size_t depth);
  void parse_statement(Statement& s);
  void parse_operation(Statement& s);
  void parse_arguments(Statement& s);
  void parse_hints(Statement& s);
  ValueId operand();
  void operand_list(Statement& s);
  /// The results of the statement get these types.
  void define(Statement& s, const std::vector<ElementType>& types);
  void define_all(Statement& s, ElementType type) { define(s, std::vector<ElementType>(s.results, type)); }
  ElementType type_of(ValueId v) const { return (*types_)[v]; }
  template <class T>
  std::uint32_t find(const std::vector<T>& entries, std::string_view what);

  std::string_view text_;
  std::string_view file_;
  std::uint32_t line_number_ = 0;
  std::optional<TextCursor> cursor_;
  std::optional<std::string> comment_;  ///< of the lines since the last statement
  Module module_;
  const Kernel* kernel_ = nullptr;
  std::vector<ElementType>* types_ = nullptr;
  std::vector<bool> defined_;
  std::size_t total_values_ = 0;
};

}  // namespace lanefold::lane
