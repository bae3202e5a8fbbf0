#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "ir/expression_parser.h"

namespace lanefold::ir {
namespace {

std::string describe(const Token& token) {
  if (token.kind == Token::Kind::newline) return "the end of the line";
  if (token.kind == Token::Kind::end) return "the end of the text";
  constexpr std::size_t kShown = 40;
  return fmt::format("'{}{}'", token.text.substr(0, kShown), token.text.size() > kShown ? "…" : "");
}

}  // namespace

const Token& TokenStream::take() {
  const Token& token = peek();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool TokenStream::accept(std::string_view spelling) {
  if (!peek().is(spelling)) return false;
  take();
  return true;
}

Status TokenStream::expect(std::string_view spelling) {
  if (accept(spelling)) return success();
  return expected(fmt::format("'{}'", spelling));
}

Result<Token> TokenStream::expect_name(std::string_view what) {
  if (peek().kind != Token::Kind::name) return expected(what);
  return take();
}

Status TokenStream::expect_line_end() {
  if (peek().kind == Token::Kind::end) return success();
  if (peek().kind != Token::Kind::newline) return expected("an operator or the end of the line");
  take();
  return success();
}

Diagnostic TokenStream::expected(std::string_view what) const {
  return fault(Code::syntax, fmt::format("expected {}, found {}", what, describe(peek())), "", peek().place);
}

Diagnostic TokenStream::fault(Code code, std::string message, std::string hint, Place place) const {
  return {code, std::move(message), std::move(hint), place_text(file_, place)};
}

Result<Number> parse_number(TokenStream& tokens) {
  const Place place = tokens.peek().place;
  const bool negative = tokens.accept("-");
  const float sign = negative ? -1.0f : 1.0f;
  if (tokens.accept("inf")) return Number{sign * std::numeric_limits<float>::infinity(), std::nullopt};
  if (tokens.accept("nan")) return Number{std::numeric_limits<float>::quiet_NaN(), std::nullopt};
  if (tokens.peek().kind != Token::Kind::number) return tokens.expected("a number");
  const std::string_view text = tokens.take().text;
  Number number;
  const auto end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number.value).ec != std::errc{}) {
    return tokens.fault(Code::literal_out_of_range, fmt::format("{} does not fit f32", text),
                        "f32 holds magnitudes from 1.4e-45 to 3.4e38; infinity is spelt inf", place);
  }
  number.value *= sign;
  std::int64_t integer = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, integer);
  if (error == std::errc{} && rest == end) {
    if (negative) integer = -integer;
    if (std::in_range<std::int32_t>(integer)) number.integer = static_cast<std::int32_t>(integer);
  }
  return number;
}

Result<std::uint32_t> parse_size(TokenStream& tokens, std::string_view what) {
  if (tokens.peek().kind != Token::Kind::number) return tokens.expected(what);
  const Token& token = tokens.take();
  std::uint32_t size = 0;
  const auto end = token.text.data() + token.text.size();
  const auto [rest, error] = std::from_chars(token.text.data(), end, size);
  if (error != std::errc{} || rest != end || size == 0) {
    return tokens.fault(Code::literal_out_of_range, fmt::format("{} is not {}", token.text, what),
                        "write a positive integer below 2^32", token.place);
  }
  return size;
}

}  // namespace lanefold::ir
