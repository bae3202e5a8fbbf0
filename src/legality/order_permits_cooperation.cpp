#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

// Several lanes on a row add in another grouping than the left fold that `serial` asks for.
std::optional<Diagnostic> order_permits_cooperation(const Question& question) {
  if (question.order != ir::Order::serial || question.workers_per_row <= 1) return std::nullopt;
  return Diagnostic{Code::order_forbids_cooperation,
                    fmt::format("order serial folds a row from left to right in one lane, but {} workers share a row",
                                question.workers_per_row),
                    "ask for order canonical, or leave each row to one lane", question.program.name};
}

}  // namespace lanefold::legality
