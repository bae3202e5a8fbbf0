// Row programs: what to compute for each row of a matrix, before anyone decides how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/element_type.h"
#include "base/result.h"

namespace lanefold::ir {

enum class Op : std::uint8_t {
#define LANEFOLD_OP(name, spelling, form, operands) name,
#include "ir/ops.def"
#undef LANEFOLD_OP
};

/// How a value varies. Kinds are ordered by broadcast: uniform ⊂ row ⊂ block ⊂ element, uniform ⊂ column ⊂ element.
struct Kind {
  enum class Tag : std::uint8_t { uniform, row, column, block, element };
  Tag tag = Tag::uniform;
  std::uint32_t block = 0;  ///< columns per block where tag is block (a power of two); else 0
  friend bool operator==(const Kind&, const Kind&) = default;
};

/// The kind of an operation over two values: the smallest kind to which both broadcast (two unequal blocks: element).
Kind join(Kind a, Kind b);
/// "element", "block<32>", ...
std::string kind_name(Kind kind);

using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};

/// One value of a body; operands are earlier values of the same body.
struct Value {
  Op op = Op::constant;
  std::vector<ValueId> operands;
  ElementType type = ElementType::f32;  ///< f32, i32 or boolean
  Kind kind;                            ///< uniform in monoid bodies
  std::uint32_t inner = 1;              ///< static inner axis [k]; 1 means none
  double literal = 0;                   ///< constant: the value (a boolean is 0 or 1); f32 literals are rounded to f32
  std::uint32_t index = 0;      ///< input, gather: input number; parameter: its number; fold_result: fold number
  std::uint32_t component = 0;  ///< fold_result: which of the monoid's results
  std::string name;             ///< the name given in the text or by the builder; may be empty
  Place place;
};

/// Straight-line code: values in definition order and the ones that come out.
struct Body {
  std::vector<Value> values;
  std::vector<ValueId> results;
};

struct Field {
  std::string name;
  ElementType type = ElementType::f32;
};

/// A monoid over state tuples. The state of one element is lift(element); step takes a state and the next element;
/// merge takes the left and the right state. Parameter order of the bodies: lift(element…), step(state…, element…),
/// merge(left state…, right state…), finish(state…).
struct Monoid {
  std::string name;
  bool builtin = false;
  std::vector<Field> element;
  std::vector<Field> state;
  /// Present only where exact: merge(identity, s) = merge(s, identity) = s and step(identity, e) = lift(e), bit for bit
  /// (up to the sign and payload of NaN).
  std::optional<std::vector<double>> identity;
  Body lift;
  Body step;
  Body merge;
  Body finish;
  /// Any order and grouping of merges and steps gives the same bits (max, min, any, all, argmax, argmin).
  bool reorderable = false;
  /// Legal only under order `free` (the online logsumexp).
  bool free_only = false;
  Place place;
};

/// A fold of the row (block = 0) or of each run of `block` consecutive columns.
struct Fold {
  std::uint32_t monoid = 0;        ///< index into Program::monoids
  std::uint32_t block = 0;         ///< 0, or a power of two
  std::vector<ValueId> arguments;  ///< one per element field of the monoid
  Place place;
};

struct Input {
  std::string name;
  ElementType storage = ElementType::f32;
  Kind kind;  ///< element [rows, cols], row [rows], column [cols] or block<B> [rows, cols/B]
  std::uint32_t inner = 1;
  std::optional<double> absent;  ///< the uniform value that stands in when the caller gives no such input
  Place place;
};

/// A uniform f32 argument with a default.
struct Parameter {
  std::string name;
  double value = 0;
  Place place;
};

/// An output. Its kind is that of its shape: element, row or block<B>.
struct Store {
  std::string name;
  ElementType storage = ElementType::f32;
  Kind kind;
  std::uint32_t inner = 1;
  ValueId value = kNoValue;
  Place place;
};

struct Program {
  std::string name;
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  std::vector<Monoid> monoids;  ///< only those that folds use
  std::vector<Fold> folds;
  std::vector<Value> values;
  std::vector<Store> stores;
};

/// How an operation is written; see ops.def.
enum class OpForm : std::uint8_t { leaf, function, infix, special };
OpForm op_form(Op op);
/// The number of operands that an operation takes.
std::size_t op_operands(Op op);
/// Spelling of an operation in the text form, empty where it has none of its own.
std::string_view op_spelling(Op op);
/// The operation's identifier, such as "quantize".
std::string_view op_name(Op op);

/// The built-in monoid of that name (sum, dot, prod, max, min, argmax, argmin, any, all, welford, logsumexp), if there is one.
/// argmax and argmin take (value, column index) as their element; the text form passes `col` by itself.
std::optional<Monoid> builtin_monoid(std::string_view name);

/// Every fault of the program; empty for a good one. Places are "file:line:column".
std::vector<Diagnostic> verify(const Program& program, std::string_view file = "program");

/// Parses the text form (monoids, then one program) and verifies it. `file` names the text in diagnostics.
Result<Program> parse(std::string_view text, std::string_view file = "program");
/// Prints the text form; parse(print(p)) gives a program that prints alike.
std::string print(const Program& program);

/// The program with each listed input replaced by its `absent` value. An input without one is refused.
Result<Program> without_inputs(const Program& program, const std::vector<std::string>& absent);

/// Number of results of a fold's finish.
std::uint32_t fold_results(const Program& program, const Fold& fold);

}  // namespace lanefold::ir
