#include "ir/lexer.h"

#include <fmt/format.h>

#include <array>

namespace lanefold::ir {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<Token>> run() {
    while (true) {
      skip_blanks();
      if (position_ == text_.size()) break;
      const char c = text_[position_];
      if (c == '\n') {
        newline();
      } else if (is_letter(c)) {
        take(Token::Kind::name, name_length());
      } else if (is_digit(c)) {
        const std::size_t length = number_length();
        if (length < rest().size() && (is_letter(rest()[length]) || rest()[length] == '.')) {
          return fault("a number runs into the next word", "put a blank or an operator between them");
        }
        take(Token::Kind::number, length);
      } else if (const std::size_t length = symbol_length(); length > 0) {
        if (c == '(' || c == '[') ++depth_;
        if ((c == ')' || c == ']') && depth_ > 0) --depth_;
        take(Token::Kind::symbol, length);
      } else {
        return fault(unexpected(c), "a program is ASCII text; comments, which begin with #, may hold anything");
      }
    }
    newline();
    tokens_.push_back({Token::Kind::end, {}, place()});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return text_.substr(position_); }
  Place place() const { return {line_, column_}; }

  Diagnostic fault(std::string message, std::string hint) const {
    return {Code::syntax, std::move(message), std::move(hint), place_text(file_, place())};
  }

  static std::string unexpected(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) return fmt::format("unexpected character '{}'", c);
    return fmt::format("unexpected byte 0x{:02x}", byte);
  }

  void advance() {
    // Continuation bytes of UTF-8 are no columns of their own.
    if ((static_cast<unsigned char>(text_[position_]) & 0xc0) != 0x80) ++column_;
    ++position_;
  }

  void skip_blanks() {
    bool comment = false;
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '\n') {
        if (depth_ == 0) return;
        comment = false;
        advance_line();
        continue;
      }
      if (c == '#') comment = true;
      if (!comment && c != ' ' && c != '\t' && c != '\r') return;
      advance();
    }
  }

  void advance_line() {
    ++position_;
    ++line_;
    column_ = 1;
  }

  void newline() {
    if (!tokens_.empty() && tokens_.back().kind != Token::Kind::newline) {
      tokens_.push_back({Token::Kind::newline, {}, place()});
    }
    if (position_ < text_.size()) advance_line();
  }

  void take(Token::Kind kind, std::size_t length) {
    tokens_.push_back({kind, rest().substr(0, length), place()});
    position_ += length;
    column_ += static_cast<std::uint32_t>(length);
  }

  /// A trailing apostrophe belongs to the name: the right state's field of a merge.
  std::size_t name_length() const {
    std::size_t length = 1;
    while (length < rest().size() && (is_letter(rest()[length]) || is_digit(rest()[length]))) ++length;
    return length < rest().size() && rest()[length] == '\'' ? length + 1 : length;
  }

  std::size_t digits(std::size_t from) const {
    while (from < rest().size() && is_digit(rest()[from])) ++from;
    return from;
  }

  std::size_t number_length() const {
    std::size_t length = digits(0);
    if (length + 1 < rest().size() && rest()[length] == '.' && is_digit(rest()[length + 1]))
      length = digits(length + 1);
    if (length < rest().size() && (rest()[length] == 'e' || rest()[length] == 'E')) {
      std::size_t exponent = length + 1;
      if (exponent < rest().size() && (rest()[exponent] == '+' || rest()[exponent] == '-')) ++exponent;
      if (exponent < rest().size() && is_digit(rest()[exponent])) length = digits(exponent);
    }
    return length;
  }

  std::size_t symbol_length() const {
    constexpr std::array<std::string_view, 4> kDouble = {"<=", ">=", "==", "!="};
    for (std::string_view symbol : kDouble) {
      if (rest().substr(0, 2) == symbol) return 2;
    }
    return std::string_view("()[],:=+-*/<>").find(rest()[0]) == std::string_view::npos ? 0 : 1;
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
  std::size_t depth_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file) {
  if (text.size() > kMaxTextBytes) {
    return Diagnostic{Code::text_too_large,
                      fmt::format("the text has {} bytes; at most {} are read", text.size(), kMaxTextBytes), "",
                      std::string(file)};
  }
  return Lexer(text, file).run();
}

}  // namespace lanefold::ir
