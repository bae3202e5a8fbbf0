#include "ir/expression_parser.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ir/monoid_part.h"
#include "ir/names.h"
#include "ir/precedence.h"

namespace lanefold::ir {
namespace {

std::optional<Op> infix_op(const Token& token) {
  for (Op op : {Op::logical_or, Op::logical_and, Op::lt, Op::le, Op::gt, Op::ge, Op::eq, Op::ne, Op::add, Op::sub,
                Op::mul, Op::div}) {
    if (token.is(op_spelling(op))) return op;
  }
  return std::nullopt;
}

}  // namespace

/// Counts a level of nesting for as long as it lives.
class ExpressionParser::Nesting {
 public:
  explicit Nesting(int& depth) : depth_(++depth) {}
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  ~Nesting() { --depth_; }

 private:
  int& depth_;
};

Status ExpressionParser::enter() const {
  if (depth_ <= kMaxNesting) return success();
  return tokens_.fault(Code::nesting_too_deep, fmt::format("this is nested more than {} levels deep", kMaxNesting),
                       "give a part of it a name in a statement of its own", tokens_.peek().place);
}

Status ExpressionParser::reach(const Token& word) const {
  if (program_ != nullptr) return success();
  return tokens_.fault(Code::impure_monoid, fmt::format("'{}' cannot stand in a monoid", word.text),
                       "a monoid sees its state and its element only; pass what it needs as an element field",
                       word.place);
}

Result<ValueId> ExpressionParser::expression() {
  const Nesting nesting(depth_);
  LANEFOLD_CHECK(enter());
  return binary(kLevelOr);
}

Result<ValueId> ExpressionParser::binary(int min_level) {
  LANEFOLD_TRY(ValueId left, prefix(min_level));
  bool compared = false;
  while (const std::optional<Op> op = infix_op(tokens_.peek())) {
    const int level = infix_level(*op);
    if (level < min_level) break;
    if (level == kLevelCompare && compared) {
      return tokens_.fault(Code::syntax, "comparisons do not chain", "join two with 'and'", tokens_.peek().place);
    }
    compared = level == kLevelCompare;
    const Place place = tokens_.take().place;
    LANEFOLD_TRY(const ValueId right, binary(level + 1));
    LANEFOLD_TRY(left, body_.operation(*op, {left, right}, place));
  }
  return left;
}

Result<ValueId> ExpressionParser::prefix(int min_level) {
  const Token token = tokens_.peek();
  if (!token.is("not") && !token.is("-")) return application();
  const Nesting nesting(depth_);
  LANEFOLD_CHECK(enter());
  if (token.is("not")) {
    if (min_level > kLevelNot) {
      return tokens_.fault(Code::syntax, "'not' binds more loosely than the operator before it",
                           "put it in parentheses", token.place);
    }
    tokens_.take();
    LANEFOLD_TRY(const ValueId operand, binary(kLevelNot));
    return body_.operation(Op::logical_not, {operand}, token.place);
  }
  const Token& next = tokens_.peek(1);
  if (next.kind == Token::Kind::number || next.is("inf")) {
    LANEFOLD_TRY(const Number number, parse_number(tokens_));
    return body_.number(number, token.place);
  }
  tokens_.take();
  LANEFOLD_TRY(const ValueId operand, prefix(kLevelUnary));
  return body_.operation(Op::neg, {operand}, token.place);
}

Result<ValueId> ExpressionParser::application() {
  const Token token = tokens_.peek();
  if (token.is("fold")) {
    LANEFOLD_TRY(const std::vector<ValueId> results, fold());
    if (results.size() == 1) return results[0];
    return tokens_.fault(Code::wrong_result_count,
                         fmt::format("this fold has {} results, and one is taken", results.size()),
                         "name them in a statement of their own: a, b = fold …", token.place);
  }
  if (token.is("gather")) return gather();
  if (token.is("f32") || token.is("i32")) {
    tokens_.take();
    LANEFOLD_TRY(const std::vector<ValueId> operands, arguments(token.text));
    if (operands.size() != 1) {
      return tokens_.fault(Code::wrong_argument_count,
                           fmt::format("'{}' takes 1 argument, and has {}", token.text, operands.size()), "",
                           token.place);
    }
    return body_.convert(token.is("f32") ? ElementType::f32 : ElementType::i32, operands[0], token.place);
  }
  const std::optional<Op> op = token.kind == Token::Kind::name ? function_from_name(token.text) : std::nullopt;
  if (!op || *op == Op::logical_not) return primary();
  tokens_.take();
  LANEFOLD_TRY(std::vector<ValueId> operands, arguments(token.text));
  return body_.operation(*op, std::move(operands), token.place);
}

Result<std::vector<ValueId>> ExpressionParser::arguments(std::string_view function) {
  std::vector<ValueId> values;
  if (tokens_.accept("(")) {
    if (tokens_.accept(")")) return values;
    do {
      LANEFOLD_TRY(const ValueId value, expression());
      values.push_back(value);
    } while (tokens_.accept(","));
    LANEFOLD_CHECK(tokens_.expect(")"));
    return values;
  }
  if (tokens_.peek().kind != Token::Kind::name && tokens_.peek().kind != Token::Kind::number) {
    return tokens_.expected(fmt::format("what '{}' applies to", function));
  }
  const Nesting nesting(depth_);
  LANEFOLD_CHECK(enter());
  LANEFOLD_TRY(const ValueId value, application());
  values.push_back(value);
  return values;
}

Result<ValueId> ExpressionParser::gather() {
  const Token word = tokens_.take();
  LANEFOLD_CHECK(reach(word));
  LANEFOLD_TRY(const std::vector<ValueId> values, arguments(word.text));
  if (values.size() != 2) {
    return tokens_.fault(Code::wrong_argument_count,
                         fmt::format("'gather' takes 2 arguments, and has {}", values.size()), "gather(input, index)",
                         word.place);
  }
  return program_->add_gather(values[0], values[1], word.place);
}

Result<std::vector<ValueId>> ExpressionParser::fold() {
  const Token word = tokens_.take();
  LANEFOLD_CHECK(reach(word));
  FoldExtent extent;
  if (tokens_.accept("<")) {
    LANEFOLD_TRY(extent.block, parse_size(tokens_, "a block size"));
    LANEFOLD_CHECK(tokens_.expect(">"));
  } else if (tokens_.accept("[")) {
    LANEFOLD_TRY(const Token axis, tokens_.expect_name("an axis"));
    if (axis.text != "cols" && axis.text != "rows") {
      return tokens_.fault(Code::unsupported_axis, fmt::format("there is no axis '{}' to fold along", axis.text),
                           "folds run along cols or along rows", axis.place);
    }
    if (axis.text == "rows") extent.axis = Axis::rows;
    LANEFOLD_CHECK(tokens_.expect("]"));
  }
  if (tokens_.peek().kind != Token::Kind::name) return tokens_.expected("the name of a monoid");
  const Token monoid = tokens_.take();
  LANEFOLD_TRY(std::vector<ValueId> values, arguments(monoid.text));
  return program_->add_fold(monoid.text, std::move(values), extent, word.place);
}

Result<ValueId> ExpressionParser::primary() {
  const Token& token = tokens_.peek();
  if (token.kind == Token::Kind::number || token.is("inf") || token.is("nan")) {
    const Place place = token.place;
    LANEFOLD_TRY(const Number number, parse_number(tokens_));
    return body_.number(number, place);
  }
  if (tokens_.accept("(")) {
    LANEFOLD_TRY(const ValueId inside, expression());
    LANEFOLD_CHECK(tokens_.expect(")"));
    return inside;
  }
  if (token.kind == Token::Kind::name) return name();
  return tokens_.expected("a value");
}

Result<ValueId> ExpressionParser::name() {
  const Token token = tokens_.peek();
  if (const auto found = scope_.find(token.text); found != scope_.end()) {
    tokens_.take();
    return found->second;
  }
  if (token.is("true") || token.is("false")) {
    tokens_.take();
    return body_.boolean(token.is("true"), token.place);
  }
  for (Op op : {Op::col, Op::cols, Op::rows}) {
    if (!token.is(op_spelling(op))) continue;
    tokens_.take();
    LANEFOLD_CHECK(reach(token));
    return program_->add_leaf(op);
  }
  if (is_reserved(token.text)) return tokens_.expected("a value");
  std::string hint = program_ != nullptr ? "inputs, parameters and the values of earlier statements have names"
                                         : "a monoid sees its state's and its element's fields only";
  if (is_builtin_monoid(token.text)) hint = fmt::format("a monoid folds: fold {} …", token.text);
  return tokens_.fault(Code::unknown_name, fmt::format("nothing is named '{}' here", token.text), std::move(hint),
                       token.place);
}

}  // namespace lanefold::ir
