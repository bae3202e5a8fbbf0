// Parses expressions of programs and of monoid bodies.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/lexer.h"

namespace lanefold::ir {

/// A position in a text's tokens.
class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, std::string file) : tokens_(std::move(tokens)), file_(std::move(file)) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  /// The token at the position, which moves on.
  const Token& take();
  /// Moves over the token if it is spelt so.
  bool accept(std::string_view spelling);
  Status expect(std::string_view spelling);
  Result<Token> expect_name(std::string_view what);
  Status expect_line_end();
  /// A syntax fault at the next token: "expected …, found …".
  Diagnostic expected(std::string_view what) const;
  Diagnostic fault(Code code, std::string message, std::string hint, Place place) const;
  const std::string& file() const { return file_; }

 private:
  std::vector<Token> tokens_;
  std::string file_;
  std::size_t next_ = 0;
};

/// A written number, such as 1e-6 or inf, with an optional '-' before it.
Result<Number> parse_number(TokenStream& tokens);
/// A written positive integer.
Result<std::uint32_t> parse_size(TokenStream& tokens, std::string_view what);

class ExpressionParser {
 public:
  using Scope = std::map<std::string, ValueId, std::less<>>;
  /// Parentheses, prefix operators and calls inside each other, at most.
  static constexpr int kMaxNesting = 200;

  /// `program` is null in the body of a monoid, where folds, gather and the column index are faults.
  ExpressionParser(TokenStream& tokens, BodyBuilder& body, const Scope& scope, ProgramBuilder* program)
      : tokens_(tokens), body_(body), scope_(scope), program_(program) {}

  Result<ValueId> expression();
  /// A fold with all its results; the position is at the word "fold".
  Result<std::vector<ValueId>> fold();

 private:
  class Nesting;

  Result<ValueId> binary(int min_level);
  Result<ValueId> prefix(int min_level);
  Result<ValueId> application();
  Result<ValueId> primary();
  Result<ValueId> name();
  Result<ValueId> gather();
  /// "(a, b)", or one operand by juxtaposition.
  Result<std::vector<ValueId>> arguments(std::string_view function);
  /// In a monoid's body: the fault of reaching outside.
  Status reach(const Token& word) const;
  Status enter() const;

  TokenStream& tokens_;
  BodyBuilder& body_;
  const Scope& scope_;
  ProgramBuilder* program_;
  int depth_ = 0;
};

}  // namespace lanefold::ir
