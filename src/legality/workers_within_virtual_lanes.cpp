#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

// Each worker owns at least one virtual lane; more workers would have nothing to fold.
std::optional<Diagnostic> workers_within_virtual_lanes(const Question& question) {
  if (question.order != ir::Order::canonical || question.workers_per_row <= question.virtual_lanes) return std::nullopt;
  return Diagnostic{Code::more_workers_than_virtual_lanes,
                    fmt::format("{} workers share a row, but a row of {} columns has {} virtual lanes",
                                question.workers_per_row, question.cols, question.virtual_lanes),
                    fmt::format("ask for at most {} workers per row", question.virtual_lanes), question.program.name};
}

}  // namespace lanefold::legality
