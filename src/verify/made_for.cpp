#include "verify/made_for.h"

#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanefold::verify {

namespace {

constexpr std::string_view kTokens = "tokens ", kWeights = "weights ", kOption = "option ";

}  // namespace

std::string built_for(const kernels::Build& build) {
  std::string text;
  if (build.tokens != 1) text += fmt::format(", {}{}", kTokens, build.tokens);
  if (!build.weights.empty()) text += fmt::format(", {}{}", kWeights, build.weights);
  for (const auto& [name, value] : build.known.options) text += fmt::format(", {}{}={}", kOption, name, value);
  return text;
}

std::optional<kernels::Build> build_of(std::string_view made_for) {
  kernels::Build build;
  std::size_t at = made_for.find(", ");
  while (at != made_for.npos) {
    made_for.remove_prefix(at + 2);
    at = made_for.find(", ");
    const std::string part(made_for.substr(0, at));
    if (part.starts_with(kTokens)) {
      build.tokens = static_cast<std::uint32_t>(std::strtoul(part.c_str() + kTokens.size(), nullptr, 10));
    } else if (part.starts_with(kWeights)) {
      build.weights = part.substr(kWeights.size());
    } else if (const std::size_t equal = part.find('='); part.starts_with(kOption) && equal != part.npos) {
      build.known.options.emplace_back(part.substr(kOption.size(), equal - kOption.size()),
                                       std::strtod(part.c_str() + equal + 1, nullptr));
    } else {
      return std::nullopt;
    }
  }
  return build;
}

std::string made_for(const Instance& instance) {
  if (instance.hand_written == nullptr)
    return fmt::format("{} row{} of {} column{}{}", instance.rows, instance.rows == 1 ? "" : "s", instance.cols,
                       instance.cols == 1 ? "" : "s", built_for(instance.build));
  std::vector<std::string> sizes;
  for (const kernels::SizeFact& size : instance.hand_written->sizes)
    sizes.push_back(fmt::format("{} {}", size.name, instance.sizes.at(size.name)));
  if (instance.hand_written->has_weights)
    sizes.emplace_back(instance.sizes.weights == kernels::WeightFormat::q8_0 ? "weights q8_0" : "weights bf16");
  return fmt::format("{}", fmt::join(sizes, ", "));
}

}  // namespace lanefold::verify
