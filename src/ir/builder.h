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

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "ir/program.h"

namespace lanefold::ir {

/// How far a fold reaches: the row, each `block` columns of it, or a column along the rows.
struct FoldExtent {
  std::uint32_t block = 0;
  Axis axis = Axis::cols;
};

/// The values of an input in q8_0 blocks.
struct Quantised {
  ValueId value = kNoValue;  ///< f32: code times scale
  ValueId codes = kNoValue;  ///< i32
  ValueId scale = kNoValue;  ///< f32, one per block
};

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
  /// An input [cols], or as many as `inner` says: `name`_0, `name`_1, …, on each of which operations with the result work.
  Expr column(std::string name, ElementType storage, std::optional<double> absent = std::nullopt,
              std::uint32_t inner = 1);
  /// An input [rows, cols] in q8_0 blocks: the product of its codes (`name`_codes) and scales (`name`_scale).
  Expr quantised(const std::string& name);
  /// An input [rows, cols/block].
  Expr blocks(std::string name, ElementType storage, std::uint32_t block, std::optional<double> absent = std::nullopt);
  /// A uniform f32 argument.
  Expr parameter(std::string name, double value);
  /// One that is fixed when a kernel is compiled.
  Expr option(std::string name, double value);
  /// A number as a value of its own, which can be named.
  Expr number(Expr value);
  Expr boolean(bool value);
  /// The column index.
  Expr col();
  /// The number of columns.
  Expr cols();
  /// The number of rows.
  Expr rows();
  /// A fold with one result, of the row or of each `block` columns. The monoid is built in or was added.
  Expr fold(std::string_view monoid, const std::vector<Expr>& arguments, std::uint32_t block = 0);
  /// All results of a fold.
  std::vector<Expr> folds(std::string_view monoid, const std::vector<Expr>& arguments, std::uint32_t block = 0);
  /// A fold with one result per column, along the rows.
  Expr fold_rows(std::string_view monoid, const std::vector<Expr>& arguments);
  /// The element of an input's row, or of a [cols] input, at a column index.
  Expr gather(Expr input, Expr index);
  /// An output of the value's own kind; a uniform value fills [rows, cols], and so does a column value unless rows were folded into it.
  /// A value with an inner axis gives as many outputs.
  void store(std::string name, ElementType storage, Expr value);
  /// An output of a kind to which the value's broadcasts.
  void store(std::string name, ElementType storage, Expr value, Kind kind);
  /// An output [rows, cols] in q8_0 blocks: `name`_codes and `name`_scale.
  void store_quantised(std::string name, Expr value);
  /// Makes a monoid known to folds by its name.
  void add_monoid(Monoid monoid);

  /// The verified program, or the first fault. The builder is spent.
  Result<Program> finish();

  // With places, for the parser. Names are checked by finish().
  BodyBuilder& body() { return body_; }
  ValueId add_input(Input input);
  /// An input with an inner axis of `inner`: a bundle.
  ValueId add_inputs(Input input, std::uint32_t inner);
  /// An input in q8_0 blocks; its codes and scales come with their own names.
  Quantised add_quantised(const std::string& name, Place place);
  ValueId add_parameter(Parameter parameter);
  ValueId add_leaf(Op op);
  Result<std::vector<ValueId>> add_fold(std::string_view monoid, std::vector<ValueId> arguments, FoldExtent extent,
                                        Place place);
  Result<ValueId> add_gather(ValueId input, ValueId index, Place place);
  /// `inner` outputs, one per place of the value's inner axis; a value without one is the same in each.
  Status add_stores(Store store, std::uint32_t inner);
  Status add_quantised_store(Store store);

 private:
  Expr declare(std::string name, ElementType storage, Kind kind, std::optional<double> absent);
  Result<std::vector<ValueId>> add_plain_fold(std::uint32_t monoid, std::vector<ValueId> arguments, FoldExtent extent,
                                              Place place);
  std::vector<Expr> taken(std::string_view monoid, const std::vector<Expr>& arguments, FoldExtent extent);
  Expr one(std::string_view monoid, const std::vector<Expr>& results);
  void add_store(Store store);
  /// The index in the program of the monoid of that name, which is added on its first use.
  std::optional<std::uint32_t> use_monoid(std::string_view name);

  Program program_;
  BodyBuilder body_;
  std::vector<Monoid> known_;
  std::map<Op, ValueId> leaves_;
};

}  // namespace lanefold::ir
