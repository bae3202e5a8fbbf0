#include "ir/monoid_parser.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "ir/monoid_builder.h"
#include "ir/names.h"

namespace lanefold::ir {
namespace {

class MonoidParser {
 public:
  MonoidParser(TokenStream& tokens, bool builtin) : tokens_(tokens), builtin_(builtin) {}

  Result<Monoid> run() {
    tokens_.take();
    LANEFOLD_TRY(const Token name, tokens_.expect_name("the monoid's name"));
    LANEFOLD_TRY(std::vector<Field> state, fields());
    LANEFOLD_CHECK(tokens_.expect("of"));
    LANEFOLD_TRY(std::vector<Field> element, fields());
    LANEFOLD_CHECK(tokens_.expect_line_end());
    MonoidBuilder builder(std::string(name.text), std::move(state), std::move(element), tokens_.file(), name.place);
    if (builtin_) builder.mark_builtin();
    std::set<std::string, std::less<>> seen;
    while (tokens_.peek().kind != Token::Kind::end && !tokens_.peek().is("monoid") && !tokens_.peek().is("program")) {
      const Token word = tokens_.peek();
      if (word.kind != Token::Kind::name) return tokens_.expected("identity, lift, step, merge or finish");
      if (!seen.emplace(word.text).second) {
        return tokens_.fault(Code::duplicate_name, fmt::format("'{}' is given twice", word.text), "", word.place);
      }
      LANEFOLD_CHECK(section(builder));
      LANEFOLD_CHECK(tokens_.expect_line_end());
    }
    return builder.build();
  }

 private:
  Result<std::vector<Field>> fields() {
    LANEFOLD_CHECK(tokens_.expect("("));
    std::vector<Field> result;
    do {
      LANEFOLD_TRY(const Token name, tokens_.expect_name("a field's name"));
      if (!names_.emplace(name.text).second) {
        return tokens_.fault(Code::duplicate_name, fmt::format("two fields are named '{}'", name.text), "", name.place);
      }
      if (std::optional<Diagnostic> fault = name_fault(name.text, "field")) {
        return tokens_.fault(fault->code, fault->message, fault->hint, name.place);
      }
      LANEFOLD_CHECK(tokens_.expect(":"));
      LANEFOLD_TRY(const Token word, tokens_.expect_name("a type"));
      const std::optional<ElementType> type = element_from_name(word.text);
      if (!type) {
        return tokens_.fault(Code::unknown_name, fmt::format("no type is named '{}'", word.text),
                             "a field is f32, i32 or bool", word.place);
      }
      result.push_back({std::string(name.text), *type});
    } while (tokens_.accept(","));
    LANEFOLD_CHECK(tokens_.expect(")"));
    return result;
  }

  Status section(MonoidBuilder& builder) {
    const Token word = tokens_.take();
    LANEFOLD_CHECK(tokens_.expect("="));
    if (word.is("identity")) return identity(builder);
    for (MonoidPart part : kMonoidParts) {
      if (word.is(part_name(part))) return body(builder, part);
    }
    return tokens_.fault(Code::unknown_name, fmt::format("a monoid has no part '{}'", word.text),
                         "its parts are identity, lift, step, merge and finish", word.place);
  }

  Status identity(MonoidBuilder& builder) {
    const std::vector<Field>& state = builder.monoid().state;
    std::vector<double> values;
    do {
      const Token token = tokens_.peek();
      const ElementType type = values.size() < state.size() ? state[values.size()].type : ElementType::f32;
      if (tokens_.accept("true") || tokens_.accept("false")) {
        if (type != ElementType::boolean) return wrong_literal(token, type);
        values.push_back(token.is("true") ? 1 : 0);
        continue;
      }
      LANEFOLD_TRY(const Number number, parse_number(tokens_));
      if (type == ElementType::boolean || (type == ElementType::i32 && !number.integer))
        return wrong_literal(token, type);
      values.push_back(type == ElementType::i32 ? *number.integer : static_cast<double>(number.value));
    } while (tokens_.accept(","));
    builder.identity(std::move(values));
    return success();
  }

  Diagnostic wrong_literal(const Token& token, ElementType type) const {
    return tokens_.fault(Code::type_mismatch, fmt::format("the identity of this field must be {}", element_name(type)),
                         "", token.place);
  }

  Status body(MonoidBuilder& builder, MonoidPart part) {
    BodyBuilder values = builder.begin(part);
    ExpressionParser::Scope scope;
    const std::vector<Field> parameters = part_parameters(builder.monoid(), part);
    for (ValueId id = 0; id < parameters.size(); ++id) scope.emplace(parameters[id].name, id);
    std::vector<ValueId> results;
    // A list that begins with a definition may stand in parentheses, to run over several lines.
    const bool grouped = tokens_.peek().is("(") && tokens_.peek(1).is("let");
    if (grouped) tokens_.take();
    do {
      const bool local = tokens_.accept("let");
      Token name;
      if (local) {
        LANEFOLD_TRY(name, tokens_.expect_name("a name"));
        if (std::optional<Diagnostic> fault = name_fault(name.text, "value")) {
          return tokens_.fault(fault->code, fault->message, fault->hint, name.place);
        }
        if (scope.contains(name.text)) {
          return tokens_.fault(Code::duplicate_name, fmt::format("'{}' is defined already", name.text), "", name.place);
        }
        LANEFOLD_CHECK(tokens_.expect("="));
      }
      const ValueId first_new = values.size();
      ExpressionParser parser(tokens_, values, scope, nullptr);
      LANEFOLD_TRY(const ValueId value, parser.expression());
      if (!local) {
        results.push_back(value);
        continue;
      }
      if (value >= first_new) values.set_name(value, std::string(name.text));
      scope.emplace(name.text, value);
    } while (tokens_.accept(","));
    if (grouped) LANEFOLD_CHECK(tokens_.expect(")"));
    builder.end(part, std::move(values), std::move(results));
    return success();
  }

  TokenStream& tokens_;
  bool builtin_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

Result<Monoid> parse_monoid(TokenStream& tokens, bool builtin) { return MonoidParser(tokens, builtin).run(); }

}  // namespace lanefold::ir
