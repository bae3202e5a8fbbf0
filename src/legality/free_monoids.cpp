#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> free_monoids(const Question& question) {
  if (question.order == ir::Order::free) return std::nullopt;
  for (const ir::Fold& f : question.program.folds) {
    const ir::Monoid& monoid = question.program.monoids[f.monoid];
    if (!monoid.free_only) continue;
    return Diagnostic{Code::monoid_needs_free_order,
                      fmt::format("{} rounds differently in every grouping, so order {} cannot fix its bits",
                                  monoid.name, ir::order_name(question.order)),
                      "ask for order free, or write the fold as max, then sum of exp",
                      place_text(question.program.name, f.place)};
  }
  return std::nullopt;
}

}  // namespace lanefold::legality
