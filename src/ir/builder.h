// Builds row programs in C++. The parser stands on the same builder, so text and C++ mean the same.
//
//   ProgramBuilder b("rms_norm");
//   Expr x = b.input("x", ElementType::f32);
//   Expr weight = b.column("weight", ElementType::f32);
//   Expr eps = b.parameter("eps", 1e-6);
//   Expr inv = 1 / sqrt(b.fold("dot", {x, x}) / b.cols() + eps);
//   b.store("y", ElementType::f32, x * weight * inv);
//   Result<Program> program = b.finish();
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "ir/program.h"

namespace lanefold::ir {

class ProgramBuilder {
 public:
  /// `file` names the program's text in diagnostics.
  explicit ProgramBuilder(std::string name, std::string file = "program");
  ProgramBuilder(const ProgramBuilder&) = delete;
  ProgramBuilder& operator=(const ProgramBuilder&) = delete;

  /// An input [rows, cols]; `absent` is the constant that stands in when the caller gives none.
  Expr input(std::string name, ElementType storage, std::optional<double> absent = std::nullopt);
  /// An input [rows].
  Expr row(std::string name, ElementType storage, std::optional<double> absent = std::nullopt);
  /// An input [cols].
  Expr column(std::string name, ElementType storage, std::optional<double> absent = std::nullopt);
  /// An input [rows, cols/block].
  Expr blocks(std::string name, ElementType storage, std::uint32_t block, std::optional<double> absent = std::nullopt);
  /// A uniform f32 argument.
  Expr parameter(std::string name, double value);
  /// A number as a value of its own, which can be named.
  Expr number(Expr value);
  Expr boolean(bool value);
  /// The column index.
  Expr col();
  /// The number of columns.
  Expr cols();
  /// A fold with one result, of the row or of each `block` columns. The monoid is built in or was added.
  Expr fold(std::string_view monoid, const std::vector<Expr>& arguments, std::uint32_t block = 0);
  /// All results of a fold.
  std::vector<Expr> folds(std::string_view monoid, const std::vector<Expr>& arguments, std::uint32_t block = 0);
  /// The element of an input's row, or of a [cols] input, at a column index.
  Expr gather(Expr input, Expr index);
  /// An output of the value's own kind; a uniform or column value fills [rows, cols].
  void store(std::string name, ElementType storage, Expr value);
  /// An output of a kind to which the value's broadcasts.
  void store(std::string name, ElementType storage, Expr value, Kind kind);
  /// Makes a monoid known to folds by its name.
  void add_monoid(Monoid monoid);

  /// The verified program, or the first fault. The builder is spent.
  Result<Program> finish();

  // With places, for the parser. Names are checked by finish().
  BodyBuilder& body() { return body_; }
  ValueId add_input(Input input);
  ValueId add_parameter(Parameter parameter);
  ValueId add_leaf(Op op);
  Result<std::vector<ValueId>> add_fold(std::string_view monoid, std::vector<ValueId> arguments, std::uint32_t block,
                                        Place place);
  Result<ValueId> add_gather(ValueId input, ValueId index, Place place);
  void add_store(Store store);

 private:
  Expr declare(std::string name, ElementType storage, Kind kind, std::optional<double> absent);
  /// The index in the program of the monoid of that name, which is added on its first use.
  std::optional<std::uint32_t> use_monoid(std::string_view name);

  Program program_;
  BodyBuilder body_;
  std::vector<Monoid> known_;
  std::optional<ValueId> col_;
  std::optional<ValueId> cols_;
};

}  // namespace lanefold::ir
