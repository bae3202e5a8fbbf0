// Row programs: what to compute for each row of a matrix, before anyone decides how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// Along what a fold runs.
enum class Axis : std::uint8_t { cols, rows };

/// A fold of the row (block = 0), of each run of `block` consecutive columns, or of each column along all rows.
struct Fold {
  std::uint32_t monoid = 0;        ///< index into Program::monoids
  std::uint32_t block = 0;         ///< 0, or a power of two; 0 along rows
  std::vector<ValueId> arguments;  ///< one per element field of the monoid
  Place place;
  Axis axis = Axis::cols;
};

/// What one declaration was split into: `x: f32[4][cols]` gives x_0 … x_3, one per place of its inner axis, and
/// `w: q8_0[rows, cols]` gives w_codes and w_scale, which lie interleaved in the caller's memory.
struct Part {
  enum class Role : std::uint8_t { whole, inner, codes, scale };
  Role role = Role::whole;
  std::string of;           ///< the declared name; empty for a whole
  std::uint32_t index = 0;  ///< inner: its place
  std::uint32_t count = 1;  ///< inner: the size of the axis
};

/// Columns of a quantised block of the storage q8_0: an f16 scale, then as many i8 codes.
inline constexpr std::uint32_t kQ8Block = 32;

struct Input {
  std::string name;
  ElementType storage = ElementType::f32;
  Kind kind;                     ///< element [rows, cols], row [rows], column [cols] or block<B> [rows, cols/B]
  std::optional<double> absent;  ///< the uniform value that stands in when the caller gives no such input
  Place place;
  Part part = {};
};

/// A uniform f32 argument with a default.
struct Parameter {
  std::string name;
  double value = 0;
  Place place;
  bool option =
      false;  ///< fixed when a kernel is compiled (see specialise), so that what it switches off costs nothing
};

/// An output. Its kind is that of its shape: element, row, block<B>, or column where all rows are folded into one.
struct Store {
  std::string name;
  ElementType storage = ElementType::f32;
  Kind kind;
  ValueId value = kNoValue;
  Place place;
  Part part = {};
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

/// What is known of a program before its kernels are compiled.
struct Known {
  std::vector<std::string> absent = {};  ///< inputs that no call gives; `x` stands for all parts of x
  std::vector<std::pair<std::string, double>> options = {};  ///< parameters with the value that every call has
};

/// The program with each absent input replaced by its stand-in, each given option by its value and every other one by its
/// default, and without what that leaves unused or without effect: x · 1, x / 1, x + (−0), branches that are never taken, operations on
/// constants. No bit of a result changes. Refuses absent inputs that have no stand-in (input_required) and names that the program
/// does not have (unknown_name, unknown_parameter), values that an option cannot have (number_invalid), and what only the new types make faulty.
Result<Program> specialise(const Program& program, const Known& known);

/// Number of results of a fold's finish.
std::uint32_t fold_results(const Program& program, const Fold& fold);

}  // namespace lanefold::ir
