// The operators of the library: each one a row program in text form, in a file of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/element_type.h"
#include "base/result.h"
#include "ir/program.h"

namespace lanefold::kernels {

/// What the library knows of an operator.
struct Operator {
  std::string_view name;
  /// Names that other systems give to the same operator.
  std::vector<std::string_view> aliases;
  /// The row program. The word T stands for the storage type of x and of what is stored like it.
  std::string_view text;
  /// One line for a list of operators.
  std::string_view summary;
  /// The mathematics of one row.
  std::string_view formula;
  /// What comes out for NaN, infinities, zeros and whatever else the formula leaves open; in sentences.
  std::string_view special_values = "";
  /// Where the formula comes from.
  std::string_view source = "";
  /// A float output y fits a reference r where |y − r| ≤ absolute + relative · |r|, besides one rounding to its storage.
  double absolute_tolerance = 0;
  double relative_tolerance = 0;
  /// The most that a quantised code may differ from that of a reference in higher precision: a quotient near a half may
  /// round to either side.
  int code_tolerance = 0;
  /// T may be an integer type too. Nothing is stored as T then, and all arithmetic is f32.
  bool integers = false;
};

/// Every operator, in the order of operators.def.
const std::vector<Operator>& operators();

/// The operator of that name or alias, or null.
const Operator* find(std::string_view name);

/// The same, or a diagnostic (unknown_operator) whose hint lists close names.
Result<const Operator*> find_or_explain(std::string_view name);

/// The storage types in which every operator is built: f32, f16, bf16, e4m3, e5m2.
const std::vector<ElementType>& storages();
/// Those in which this operator is built: the same, and i8 where T may be an integer.
const std::vector<ElementType>& storages(const Operator& op);
/// Those in which any operator is built.
const std::vector<ElementType>& all_storages();

/// The operator's program for a storage type that it is built in (else operator_storage), with the listed inputs replaced
/// by their stand-ins (a weight by 1, say).
Result<ir::Program> build(const Operator& op, ElementType storage, const std::vector<std::string>& absent_inputs = {});

}  // namespace lanefold::kernels
