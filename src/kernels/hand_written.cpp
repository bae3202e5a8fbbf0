#include "kernels/hand_written.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "kernels/hand_written_modules.h"
#include "lane/verify.h"

namespace lanefold::kernels {
namespace {

constexpr std::int64_t kMostSimdGroups = 32;  ///< of a lane kernel's threadgroup

Diagnostic unknown_form(const HandWritten& module, std::string_view form) {
  std::vector<std::string_view> names;
  for (const FormFact& known : module.forms) {
    names.push_back(known.name);
    names.insert(names.end(), known.aliases.begin(), known.aliases.end());
  }
  return {Code::unknown_form, fmt::format("{} has no form \"{}\"", module.name, form),
          fmt::format("its forms: {}", fmt::join(names, ", ")), std::string(module.name)};
}

Diagnostic unknown_size(const HandWritten& module, std::string_view name) {
  std::vector<std::string> known;
  for (const SizeFact& size : module.sizes)
    known.push_back(fmt::format("{} ({} to {})", size.name, size.least, size.most));
  return {Code::module_size_unknown, fmt::format("{} has no size \"{}\"", module.name, name),
          fmt::format("its sizes: {}", fmt::join(known, ", ")), std::string(module.name)};
}

}  // namespace

std::int64_t ModuleSizes::at(std::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end()) internal_error(fmt::format("hand-written module: the size {} is not filled in", name));
  return found->second;
}

Diagnostic misfit(std::string_view module, std::string message, std::string hint) {
  return {Code::module_size_invalid, std::move(message), std::move(hint), std::string(module)};
}

Status check_threads(std::string_view module, const ModuleSizes& sizes, std::int64_t simd_groups) {
  const std::int64_t most = std::min<std::int64_t>(kMostSimdGroups, lane::kMaxThreads / sizes.simd_width);
  if (simd_groups <= most) return success();
  return misfit(module, fmt::format("{} SIMD groups of {} lanes in a threadgroup", simd_groups, sizes.simd_width),
                fmt::format("a threadgroup has at most {} of that width", most));
}

Status check_sums_of_16(std::string_view module, const ModuleSizes& sizes) {
  if (sizes.simd_width >= 16) return success();
  return misfit(module,
                fmt::format("simd_width is {}, and sums of 16 columns stay in one SIMD group", sizes.simd_width),
                "use 16, 32 or 64");
}

Status check_multiple(std::string_view module, std::string_view name, std::int64_t whole, std::int64_t part,
                      std::string_view why) {
  if (whole % part == 0) return success();
  const std::int64_t below = whole / part * part;
  return misfit(
      module, fmt::format("{} is {}, not a multiple of {} ({})", name, whole, part, why),
      below == 0 ? fmt::format("{} would fit", part) : fmt::format("{} or {} would fit", below, below + part));
}

const std::vector<HandWritten>& hand_written() {
  static const std::vector<HandWritten> list = {gr_norm_module(), gr_down_module(), gr_up_module(), gr_up3_module(),
                                                qsa_merge_module()};
  return list;
}

const HandWritten* find_hand_written(std::string_view name) {
  for (const HandWritten& module : hand_written())
    if (module.name == name) return &module;
  return nullptr;
}

Result<const FormFact*> find_form(const HandWritten& module, std::string_view name) {
  if (name.empty()) return &module.forms.front();
  for (const FormFact& form : module.forms)
    if (form.name == name || std::find(form.aliases.begin(), form.aliases.end(), name) != form.aliases.end())
      return &form;
  return unknown_form(module, name);
}

Result<ModuleSizes> complete_sizes(const HandWritten& module, const ModuleSizes& given) {
  for (const auto& entry : given.values) {
    const std::string_view name = entry.first;
    const bool known =
        std::any_of(module.sizes.begin(), module.sizes.end(), [&](const SizeFact& size) { return size.name == name; });
    if (!known) return unknown_size(module, name);
  }
  ModuleSizes sizes = given;
  for (const SizeFact& size : module.sizes) {
    const std::int64_t value = sizes.values.try_emplace(std::string(size.name), size.standard).first->second;
    if (value < size.least || value > size.most)
      return misfit(module.name, fmt::format("{} is {}", size.name, value),
                    fmt::format("{} is from {} to {}: {}", size.name, size.least, size.most, size.summary));
  }
  if (!std::has_single_bit(sizes.simd_width) || sizes.simd_width < 4 || sizes.simd_width > 64)
    return misfit(module.name, fmt::format("simd_width is {}", sizes.simd_width), "use a power of two from 4 to 64");
  return sizes;
}

Result<lane::Module> build_hand_written(const HandWritten& module, std::string_view form, const ModuleSizes& given) {
  LANEFOLD_TRY(const FormFact* found, find_form(module, form));
  LANEFOLD_TRY(const ModuleSizes sizes, complete_sizes(module, given));
  return module.build(found->name, sizes);
}

}  // namespace lanefold::kernels
