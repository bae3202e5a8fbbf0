// The hand-written lane modules of the library: kernels whose lanes are spelled out, each in one or more forms.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lane/module.h"

namespace lanefold::kernels {

/// How a weight matrix is stored: bf16 elements, or blocks of 34 bytes for 32 elements (an f16 scale, then 32 i8 codes).
enum class WeightFormat : std::uint8_t { bf16, q8_0 };

/// One size that a module is built for.
struct SizeFact {
  std::string_view name;
  std::int64_t standard, least, most;
  std::string_view summary;
};

/// One way in which a module is written; forms that are right store equal bytes.
struct FormFact {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view summary;
  bool right = true;  ///< false: a planted mistake, which a check must find
};

/// What a module is built for. The lists that modules publish say which sizes there are.
struct ModuleSizes {
  std::map<std::string, std::int64_t, std::less<>> values;
  WeightFormat weights = WeightFormat::bf16;  ///< without meaning where a module has no weights
  std::uint32_t simd_width = 32;

  /// The size of that name; an internal error where it is not filled in.
  std::int64_t at(std::string_view name) const;
};

/// What the library knows of a hand-written module.
struct HandWritten {
  std::string_view name;
  std::string_view summary;
  std::string_view formula;
  std::vector<FormFact> forms;  ///< the first is the standard one
  std::vector<SizeFact> sizes;
  bool has_weights = false;
  /// A right form's output y fits its FP64 meaning r where |y − r| ≤ absolute + relative · |r|.
  double absolute_tolerance = 0;
  double relative_tolerance = 0;
  /// The module of a form, by its own name, for sizes that are all given and within their ranges.
  Result<lane::Module> (*build)(std::string_view form, const ModuleSizes& sizes) = nullptr;
};

/// Every hand-written module.
const std::vector<HandWritten>& hand_written();

/// The module of that name, or null.
const HandWritten* find_hand_written(std::string_view name);

/// The form of that name or alias; the standard one for "". Diagnostic: unknown_form.
Result<const FormFact*> find_form(const HandWritten& module, std::string_view name);

/// The sizes given, with those that are not filled in. Diagnostics: module_size_unknown; module_size_invalid (out of its range).
Result<ModuleSizes> complete_sizes(const HandWritten& module, const ModuleSizes& given);

/// The module in a form ("" is the standard one; aliases count) for the sizes given; those not given are standard.
/// Buffers have fixed shapes and the launch a fixed number of threadgroups. A buffer NAME_scale is the memory of NAME
/// seen as f16 and shares its role and index. Diagnostics: unknown_form; module_size_unknown; module_size_invalid.
Result<lane::Module> build_hand_written(const HandWritten& module, std::string_view form, const ModuleSizes& given);

}  // namespace lanefold::kernels
