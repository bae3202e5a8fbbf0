#include <bit>

#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> power_of_two_workers(const Question& question) {
  if (question.order != ir::Order::canonical || std::has_single_bit(question.workers_per_row)) return std::nullopt;
  const std::uint32_t below = std::bit_floor(question.workers_per_row);
  return Diagnostic{Code::workers_not_power_of_two,
                    fmt::format("{} workers share a row; the canonical order's pair tree needs a power of two",
                                question.workers_per_row),
                    fmt::format("ask for {} or {} workers", below, 2 * std::uint64_t{below}), question.program.name};
}

}  // namespace lanefold::legality
