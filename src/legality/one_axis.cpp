#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> one_axis(const Question& question) {
  for (const ir::Fold& f : question.program.folds) {
    if (f.axis != ir::Axis::rows) continue;
    return Diagnostic{
        Code::unsupported_axis,
        fmt::format("{} folds along rows, so that no one kernel computes it: it runs in stages", question.program.name),
        "run or check it as a whole; each of its stages has a plan and a module of its own",
        place_text(question.program.name, f.place)};
  }
  return std::nullopt;
}

}  // namespace lanefold::legality
