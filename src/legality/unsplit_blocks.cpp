#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

// A block is folded by lanes and registers of one SIMD group in one step. Under `serial` a lane goes through the block alone.
std::optional<Diagnostic> unsplit_blocks(const Question& question) {
  if (question.order == ir::Order::serial) return std::nullopt;
  std::uint32_t widest = 0;
  Place place;
  const auto consider = [&](std::uint32_t block, Place where) {
    if (block <= widest) return;
    widest = block;
    place = where;
  };
  for (const ir::Fold& f : question.program.folds) consider(f.block, f.place);
  if (widest <= question.block_span) return std::nullopt;
  return Diagnostic{Code::block_split,
                    fmt::format("a SIMD group holds {} consecutive columns at once, so a block of {} would be split",
                                question.block_span, widest),
                    "take a layout with more lane and register bits and fewer passes, smaller blocks, or order serial",
                    place_text(question.program.name, place)};
}

}  // namespace lanefold::legality
