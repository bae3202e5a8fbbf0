#include "lane/text_cursor.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "lane/typing.h"

namespace lanefold::lane {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

template <class T>
bool read_all(std::string_view text, T& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void TextCursor::fail(Code code, std::string message, std::string hint) {
  const Place place{number_, static_cast<std::uint32_t>(position_ + 1)};
  throw TextFault{{code, std::move(message), std::move(hint), place_text(file_, place)}};
}

void TextCursor::skip() {
  while (position_ < line_.size() && is_blank(line_[position_])) ++position_;
  if (position_ < line_.size() && line_[position_] == '#') position_ = line_.size();
}

bool TextCursor::at_end() { return skip(), position_ >= line_.size(); }

char TextCursor::peek() { return at_end() ? '\0' : line_[position_]; }

bool TextCursor::eat(std::string_view sign) {
  skip();
  if (!line_.substr(position_).starts_with(sign)) return false;
  position_ += sign.size();
  return true;
}

void TextCursor::expect(std::string_view sign) {
  if (eat(sign)) return;
  const std::string found = at_end() ? "the line ends" : fmt::format("found \"{}\"", token());
  fail(Code::lane_syntax, fmt::format("expected \"{}\" and {}", sign, found), "");
}

std::string_view TextCursor::peek_word() {
  if (!is_letter(peek())) return {};
  std::size_t end = position_;
  while (end < line_.size() && (is_letter(line_[end]) || is_digit(line_[end]))) ++end;
  return line_.substr(position_, end - position_);
}

std::string_view TextCursor::word(std::string_view wanted) {
  const std::string_view found = peek_word();
  if (found.empty()) fail(Code::lane_syntax, fmt::format("expected {}", wanted), "");
  position_ += found.size();
  return found;
}

void TextCursor::keyword(std::string_view wanted) {
  if (peek_word() != wanted) fail(Code::lane_syntax, fmt::format("expected \"{}\"", wanted), "");
  position_ += wanted.size();
}

/// What stands up to the next blank or sign, for numbers and messages.
std::string_view TextCursor::token() {
  skip();
  std::size_t end = position_;
  while (end < line_.size() && (is_letter(line_[end]) || is_digit(line_[end]) || line_[end] == '.' ||
                                line_[end] == '+' || line_[end] == '-')) {
    ++end;
  }
  if (end == position_ && end < line_.size()) ++end;
  return line_.substr(position_, end - position_);
}

std::uint32_t TextCursor::number(std::string_view wanted) {
  skip();
  std::size_t end = position_;
  while (end < line_.size() && is_digit(line_[end])) ++end;
  std::uint32_t value = 0;
  if (!read_all(line_.substr(position_, end - position_), value)) {
    fail(Code::lane_syntax, fmt::format("expected {} and found \"{}\"", wanted, token()),
         "write a whole number below 2^32");
  }
  position_ = end;
  return value;
}

ElementType TextCursor::type() {
  const std::string_view name = peek_word();
  const std::optional<ElementType> type = element_from_name(name);
  if (name.empty()) fail(Code::lane_syntax, "expected a type", "such as f32");
  if (!type)
    fail(Code::lane_unknown_word, fmt::format("there is no type {}", name),
         "use f32, bf16, f16, e4m3, e5m2, i8, i32, i64 or bool");
  position_ += name.size();
  return *type;
}

ValueId TextCursor::value() {
  expect("%");
  if (!is_digit(position_ < line_.size() ? line_[position_] : '\0'))
    fail(Code::lane_syntax, "expected a value number after %", "");
  return number("a value number");
}

std::uint64_t TextCursor::constant(ElementType type) {
  const std::string_view text = token();
  const auto bad = [&] {
    fail(Code::lane_syntax, fmt::format("\"{}\" is no {} constant", text, element_name(type)),
         type == ElementType::f32 ? "write a decimal number, inf, or the bits as 0x7fc00000"
                                  : "write true, false or a whole number in range");
  };
  std::uint64_t bits = 0;
  if (type == ElementType::boolean) {
    if (text != "true" && text != "false") bad();
    bits = text == "true" ? 1 : 0;
  } else if (type == ElementType::f32) {
    std::uint32_t word = 0;
    float real = 0;
    if (text.starts_with("0x")) {
      if (!read_all(text.substr(2), word, 16)) bad();
    } else {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
      if (error != std::errc() || end != text.data() + text.size() || std::isnan(real)) bad();
      word = std::bit_cast<std::uint32_t>(real);
    }
    bits = word;
  } else {
    std::int64_t whole = 0;
    if (!read_all(text, whole) || (type == ElementType::i32 && whole != static_cast<std::int32_t>(whole))) bad();
    bits = normal_bits(type, static_cast<std::uint64_t>(whole));
  }
  position_ += text.size();
  return bits;
}

void TextCursor::expect_end() {
  if (!at_end())
    fail(Code::lane_syntax, fmt::format("\"{}\" is left over", line_.substr(position_)), "one statement a line");
}

}  // namespace lanefold::lane
