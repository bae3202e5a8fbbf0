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
  /// The row program. The word T stands for the storage type of x and of what is stored like it, W for the format of
  /// weights and K for a number of tokens.
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
/// operator_storage, with the types that are offered; `storage` is what was asked for.
Diagnostic storage_not_offered(const Operator& op, std::string_view storage);
/// Formats of weights: element types and quantised blocks.
const std::vector<std::string_view>& weight_formats();
/// The most tokens that one load of the weights serves.
inline constexpr std::uint32_t kMostTokens = 8;

/// What an operator is built for.
struct Build {
  ElementType storage = ElementType::f32;
  std::string weights =
      {};  ///< one of weight_formats(); empty: as the storage. For operators that have weights (takes_weights).
  std::uint32_t tokens = 1;  ///< 1 to kMostTokens. For operators that take several (takes_tokens).
  ir::Known known = {};      ///< absent inputs and options
};

bool takes_weights(const Operator& op);
bool takes_tokens(const Operator& op);

/// The operator's program as it is declared: every input that it can have, its options not yet fixed. Refuses storage types, formats
/// (operator_storage) and numbers of tokens (number_invalid) that it is not offered in, and weights and tokens for operators
/// without (option_not_for_kernel).
Result<ir::Program> declare(const Operator& op, const Build& request);

/// The same with absent inputs replaced by their stand-ins (a weight by 1, say) and options fixed (ir::specialise).
Result<ir::Program> build(const Operator& op, const Build& request);
/// For a storage type, with the listed inputs absent.
Result<ir::Program> build(const Operator& op, ElementType storage, const std::vector<std::string>& absent_inputs = {});

}  // namespace lanefold::kernels
