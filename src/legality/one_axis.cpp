#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> one_axis(const Question& question) {
  const auto refused = [&](const char* what, Place place) {
    return Diagnostic{
        Code::unsupported_axis,
        fmt::format("{} {}, so that no one kernel computes it: it runs in stages", question.program.name, what),
        "run, check, digest, plan, bench and ab take it whole; each of its stages has a plan and a module of its own",
        place_text(question.program.name, place)};
  };
  for (const ir::Fold& f : question.program.folds) {
    if (f.axis == ir::Axis::rows) return refused("folds along rows", f.place);
  }
  for (const ir::Store& s : question.program.stores) {
    if (s.kind.tag == ir::Kind::Tag::column) return refused("has an output [cols]", s.place);
  }
  return std::nullopt;
}

}  // namespace lanefold::legality
