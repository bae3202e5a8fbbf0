#include "verify/made_for.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanefold::verify {

std::string made_for(const Instance& instance) {
  if (instance.hand_written == nullptr)
    return fmt::format("{} row{} of {} column{}", instance.rows, instance.rows == 1 ? "" : "s", instance.cols,
                       instance.cols == 1 ? "" : "s");
  std::vector<std::string> sizes;
  for (const kernels::SizeFact& size : instance.hand_written->sizes)
    sizes.push_back(fmt::format("{} {}", size.name, instance.sizes.at(size.name)));
  if (instance.hand_written->has_weights)
    sizes.emplace_back(instance.sizes.weights == kernels::WeightFormat::q8_0 ? "weights q8_0" : "weights bf16");
  return fmt::format("{}", fmt::join(sizes, ", "));
}

}  // namespace lanefold::verify
