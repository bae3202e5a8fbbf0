#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

// A block is folded by lanes of one SIMD group in one step. One lane a row owns whole rows, so it owns whole blocks.
std::optional<Diagnostic> unsplit_blocks(const Question& question) {
  if (question.workers_per_row <= 1) return std::nullopt;
  std::uint32_t widest = 0;
  Place place;
  const auto consider = [&](std::uint32_t block, Place where) {
    if (block <= widest) return;
    widest = block;
    place = where;
  };
  for (const ir::Fold& f : question.program.folds) consider(f.block, f.place);
  for (const ir::Input& i : question.program.inputs) consider(i.kind.block, i.place);
  for (const ir::Store& s : question.program.stores) consider(s.kind.block, s.place);
  if (widest <= question.group_span) return std::nullopt;
  return Diagnostic{Code::block_split,
                    fmt::format("a SIMD group owns {} consecutive columns, so a block of {} would be split",
                                question.group_span, widest),
                    "ask for fewer SIMD groups per row, or for a layout with more virtual lanes in a SIMD group",
                    place_text(question.program.name, place)};
}

}  // namespace lanefold::legality
