#include <algorithm>

#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

// The partial results of a row's SIMD groups are merged by the lanes of one SIMD group, one partial a lane.
std::optional<Diagnostic> one_group_merges(const Question& question) {
  const std::uint32_t width = question.target.simd_width;
  // Threadgroups that share a row merge theirs apart.
  const std::uint32_t workers = std::min(question.workers_per_row, question.threads);
  if (workers <= width * width) return std::nullopt;
  return Diagnostic{Code::too_many_simd_groups,
                    fmt::format("{} SIMD groups share a row; a SIMD group of {} lanes can merge {} partial results",
                                (workers + width - 1) / width, width, width),
                    fmt::format("ask for at most {} SIMD groups per row", width), question.program.name};
}

}  // namespace lanefold::legality
