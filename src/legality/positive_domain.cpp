#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

// A fold has no element to start from in an empty row; no rows at all are fine, for then nothing is folded.
std::optional<Diagnostic> positive_domain(const Question& question) {
  if (question.cols >= 1) return std::nullopt;
  return Diagnostic{Code::no_columns,
                    fmt::format("{} has {} columns: there is nothing to fold", question.program.name, question.cols),
                    "give rows of at least one column", question.program.name};
}

}  // namespace lanefold::legality
