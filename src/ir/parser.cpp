// The text form of programs: monoids, then one program of statements.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "ir/builder.h"
#include "ir/monoid_parser.h"
#include "ir/names.h"

namespace lanefold::ir {
namespace {

constexpr std::array<std::string_view, 3> kUnbuiltBlocks = {"q4_0", "q4_k", "q6_k"};

struct ArrayType {
  ElementType storage = ElementType::f32;
  bool quantised = false;  ///< in q8_0 blocks
  Kind kind;
  std::uint32_t inner = 1;
};

class ProgramParser {
 public:
  ProgramParser(TokenStream& tokens, std::string name, std::vector<Monoid> monoids)
      : tokens_(tokens), builder_(std::move(name), tokens.file()) {
    for (Monoid& monoid : monoids) builder_.add_monoid(std::move(monoid));
  }

  Result<Program> run() {
    LANEFOLD_CHECK(tokens_.expect("("));
    if (!tokens_.accept(")")) {
      do {
        LANEFOLD_CHECK(argument());
      } while (tokens_.accept(","));
      LANEFOLD_CHECK(tokens_.expect(")"));
    }
    LANEFOLD_CHECK(tokens_.expect_line_end());
    while (tokens_.peek().kind != Token::Kind::end) {
      LANEFOLD_CHECK(tokens_.peek().is("store") ? store() : definition());
      LANEFOLD_CHECK(tokens_.expect_line_end());
    }
    return builder_.finish();
  }

 private:
  /// The fault of defining this name, if it is one.
  Status check_name(const Token& name, std::string_view what) const {
    if (std::optional<Diagnostic> fault = name_fault(name.text, what)) {
      return tokens_.fault(fault->code, fault->message, fault->hint, name.place);
    }
    if (scope_.contains(name.text)) {
      return tokens_.fault(Code::duplicate_name, fmt::format("'{}' is defined already", name.text),
                           "choose another name", name.place);
    }
    return success();
  }

  Status argument() {
    LANEFOLD_TRY(const Token name, tokens_.expect_name("an input or a parameter"));
    LANEFOLD_CHECK(check_name(name, "input or parameter"));
    if (tokens_.accept(":")) {
      if (tokens_.accept("option")) return parameter(name, true);
      LANEFOLD_TRY(const ArrayType type, array_type());
      return type.quantised ? quantised_input(name) : input(name, type);
    }
    return parameter(name, false);
  }

  Status input(const Token& name, const ArrayType& type) {
    Input input{.name = std::string(name.text),
                .storage = type.storage,
                .kind = type.kind,
                .absent = std::nullopt,
                .place = name.place};
    if (tokens_.accept("=")) {
      LANEFOLD_TRY(const Number number, parse_number(tokens_));
      input.absent = number.integer && !is_float(type.storage) ? *number.integer : static_cast<double>(number.value);
    }
    if (type.inner == 1) {
      scope_.emplace(name.text, builder_.add_input(std::move(input)));
      return success();
    }
    const ValueId all = builder_.add_inputs(std::move(input), type.inner);
    scope_.emplace(name.text, all);
    std::uint32_t place = 0;
    for (const ValueId one : builder_.body().places(all)) scope_.emplace(fmt::format("{}_{}", name.text, place++), one);
    return success();
  }

  Status quantised_input(const Token& name) {
    if (tokens_.peek().is("=")) {
      return tokens_.fault(Code::unsupported_storage, "no number stands in for an input in quantised blocks",
                           "leave the default out", tokens_.peek().place);
    }
    const Quantised all = builder_.add_quantised(std::string(name.text), name.place);
    scope_.emplace(name.text, all.value);
    scope_.emplace(fmt::format("{}_codes", name.text), all.codes);
    scope_.emplace(fmt::format("{}_scale", name.text), all.scale);
    return success();
  }

  Status parameter(const Token& name, bool option) {
    if (!tokens_.accept("=")) {
      return tokens_.fault(Code::default_missing, fmt::format("parameter '{}' has no default", name.text),
                           fmt::format("write {} = NUMBER, or {}: TYPE[rows, cols] for an input", name.text, name.text),
                           name.place);
    }
    LANEFOLD_TRY(const Number number, parse_number(tokens_));
    scope_.emplace(name.text, builder_.add_parameter(
                                  {std::string(name.text), static_cast<double>(number.value), name.place, option}));
    return success();
  }

  Result<ArrayType> array_type() {
    LANEFOLD_TRY(const Token word, tokens_.expect_name("a storage type"));
    const std::optional<ElementType> storage = element_from_name(word.text);
    ArrayType type;
    type.quantised = word.text == "q8_0";
    if (!storage && !type.quantised) {
      for (std::string_view quantised : kUnbuiltBlocks) {
        if (word.text != quantised) continue;
        return tokens_.fault(Code::unsupported_storage, fmt::format("storage {} is not built yet", word.text),
                             "dequantise the input to f32, f16 or bf16", word.place);
      }
      return tokens_.fault(Code::unknown_name, fmt::format("no storage type is named '{}'", word.text),
                           "storage types are f32, f16, bf16, e4m3, e5m2, i8, i32, i64 and q8_0", word.place);
    }
    type.storage = storage.value_or(ElementType::i8);
    if (tokens_.peek().is("[") && tokens_.peek(1).kind == Token::Kind::number && tokens_.peek(2).is("]")) {
      tokens_.take();
      const Place place = tokens_.peek().place;
      LANEFOLD_TRY(type.inner, parse_size(tokens_, "the size of an inner axis"));
      if (type.inner > kMaxInner) {
        return tokens_.fault(Code::bad_inner_axis, fmt::format("an inner axis of {}", type.inner),
                             fmt::format("an inner axis has 1 to {} places", kMaxInner), place);
      }
      LANEFOLD_CHECK(tokens_.expect("]"));
    }
    LANEFOLD_TRY(type.kind, shape());
    if (type.quantised && (type.inner != 1 || type.kind.tag != Kind::Tag::element)) {
      return tokens_.fault(Code::unsupported_storage, "q8_0 blocks without the shape [rows, cols]",
                           "quantised blocks lie along the columns of a matrix, and have no inner axis", word.place);
    }
    return type;
  }

  Result<Kind> shape() {
    const Place place = tokens_.peek().place;
    LANEFOLD_CHECK(tokens_.expect("["));
    std::vector<std::string_view> axes;
    std::uint32_t block = 0;  // of the last axis
    bool divided = false;     // an axis before the last
    do {
      if (tokens_.peek().kind != Token::Kind::name && tokens_.peek().kind != Token::Kind::number)
        return tokens_.expected("an axis");
      axes.push_back(tokens_.take().text);
      divided |= block != 0;
      block = 0;
      if (tokens_.accept("/")) {
        LANEFOLD_TRY(block, parse_size(tokens_, "a block size"));
      }
    } while (tokens_.accept(","));
    LANEFOLD_CHECK(tokens_.expect("]"));
    const bool matrix = !divided && axes.size() >= 2 && axes[axes.size() - 2] == "rows" && axes.back() == "cols";
    if (axes.size() == 2 && matrix) return block == 0 ? Kind{Kind::Tag::element, 0} : Kind{Kind::Tag::block, block};
    if (axes.size() == 1 && block == 0 && axes[0] == "rows") return Kind{Kind::Tag::row, 0};
    if (axes.size() == 1 && block == 0 && axes[0] == "cols") return Kind{Kind::Tag::column, 0};
    if (matrix) {
      return tokens_.fault(Code::unsupported_axis, "a shape with leading axes",
                           "leading axes belong to the caller's arrays, which count as rows: write [rows, cols]",
                           place);
    }
    return tokens_.fault(Code::bad_domain, "this is no shape of a row program",
                         "shapes are [rows, cols], [rows], [cols] and [rows, cols/B]", place);
  }

  Status store() {
    tokens_.take();
    LANEFOLD_TRY(const Token name, tokens_.expect_name("the output's name"));
    LANEFOLD_CHECK(tokens_.expect(":"));
    LANEFOLD_TRY(const ArrayType type, array_type());
    LANEFOLD_CHECK(tokens_.expect("="));
    LANEFOLD_TRY(const ValueId value, expression());
    Store store{.name = std::string(name.text),
                .storage = type.storage,
                .kind = type.kind,
                .value = value,
                .place = name.place};
    return type.quantised ? builder_.add_quantised_store(std::move(store))
                          : builder_.add_stores(std::move(store), type.inner);
  }

  Status definition() {
    std::vector<Token> names;
    do {
      LANEFOLD_TRY(const Token name, tokens_.expect_name("a statement"));
      LANEFOLD_CHECK(check_name(name, "value"));
      for (const Token& other : names) {
        if (other.text == name.text) {
          return tokens_.fault(Code::duplicate_name, fmt::format("'{}' is named twice", name.text), "", name.place);
        }
      }
      if (names.size() == kMaxNames) {
        return tokens_.fault(Code::too_many_names, fmt::format("more than {} names take a fold's results", kMaxNames),
                             "", name.place);
      }
      names.push_back(name);
    } while (tokens_.accept(","));
    LANEFOLD_CHECK(tokens_.expect("="));
    const ValueId first_new = builder_.body().size();
    std::vector<ValueId> values;
    if (names.size() == 1) {
      LANEFOLD_TRY(const ValueId value, expression());
      values.push_back(value);
    } else {
      if (!tokens_.peek().is("fold")) return tokens_.expected("a fold, whose results take these names");
      LANEFOLD_TRY(values, ExpressionParser(tokens_, builder_.body(), scope_, &builder_).fold());
      if (values.size() != names.size()) {
        return tokens_.fault(Code::wrong_result_count,
                             fmt::format("this fold has {} result{}, and {} names take them", values.size(),
                                         values.size() == 1 ? "" : "s", names.size()),
                             "", names[0].place);
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      // The name of an earlier value is another name for it: `m = n`.
      if (values[i] >= first_new) builder_.body().set_name(values[i], std::string(names[i].text));
      scope_.emplace(names[i].text, values[i]);
    }
    return success();
  }

  Result<ValueId> expression() { return ExpressionParser(tokens_, builder_.body(), scope_, &builder_).expression(); }

  TokenStream& tokens_;
  ProgramBuilder builder_;
  ExpressionParser::Scope scope_;
};

}  // namespace

Result<Program> parse(std::string_view text, std::string_view file) {
  LANEFOLD_TRY(std::vector<Token> list, tokenize(text, file));
  TokenStream tokens(std::move(list), std::string(file));
  std::vector<Monoid> monoids;
  while (tokens.peek().is("monoid")) {
    LANEFOLD_TRY(Monoid monoid, parse_monoid(tokens));
    for (const Monoid& other : monoids) {
      if (other.name == monoid.name) {
        return tokens.fault(Code::duplicate_name, fmt::format("two monoids are named '{}'", monoid.name), "",
                            monoid.place);
      }
    }
    if (monoids.size() == kMaxNames) {
      return tokens.fault(Code::too_many_names, fmt::format("more than {} monoids are defined", kMaxNames), "",
                          monoid.place);
    }
    monoids.push_back(std::move(monoid));
  }
  if (!tokens.accept("program")) return tokens.expected("'monoid' or 'program'");
  LANEFOLD_TRY(const Token name, tokens.expect_name("the program's name"));
  if (std::optional<Diagnostic> fault = name_fault(name.text, "program")) {
    return tokens.fault(fault->code, fault->message, fault->hint, name.place);
  }
  return ProgramParser(tokens, std::string(name.text), std::move(monoids)).run();
}

}  // namespace lanefold::ir
