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
  /// A float output y fits a reference r where |y − r| ≤ absolute + relative · |r|, besides one rounding to its storage.
  double absolute_tolerance = 0;
  double relative_tolerance = 0;
  /// The most that a quantised code may differ from that of a reference in higher precision: a quotient near a half may
  /// round to either side.
  int code_tolerance = 0;
};

/// Every operator, in the order of operators.def.
const std::vector<Operator>& operators();

/// The operator of that name or alias, or null.
const Operator* find(std::string_view name);

/// The same, or a diagnostic (unknown_operator) whose hint lists close names.
Result<const Operator*> find_or_explain(std::string_view name);

/// Storage types in which operators are built.
const std::vector<ElementType>& storages();

/// The operator's program for a storage type, with the listed inputs replaced by their stand-ins (a weight by 1, say).
Result<ir::Program> build(const Operator& op, ElementType storage, const std::vector<std::string>& absent_inputs = {});

}  // namespace lanefold::kernels
