#include <fmt/format.h>

#include "ir/names.h"
#include "legality/rules.h"

namespace lanefold::legality {

namespace {

std::optional<Diagnostic> check_block(const Question& question, std::uint32_t block, const std::string& what,
                                      Place place) {
  if (block == 0 || question.cols % block == 0) return std::nullopt;
  return Diagnostic{
      Code::columns_not_whole_blocks,
      fmt::format("{} columns are not whole blocks of {}, in which {} is cut", question.cols, block, what),
      fmt::format("pad the rows to a multiple of {}", block), place_text(question.program.name, place)};
}

}  // namespace

// A partial block would leave the tail of the output unwritten, or read codes that are not there.
std::optional<Diagnostic> whole_blocks(const Question& question) {
  for (const ir::Fold& f : question.program.folds) {
    if (auto d = check_block(question, f.block, "a fold's row", f.place)) return d;
  }
  for (const ir::Input& i : question.program.inputs) {
    if (auto d = check_block(question, i.kind.block, "input " + ir::part_name(i.name, i.part), i.place)) return d;
  }
  for (const ir::Store& s : question.program.stores) {
    if (auto d = check_block(question, s.kind.block, "output " + ir::part_name(s.name, s.part), s.place)) return d;
  }
  return std::nullopt;
}

}  // namespace lanefold::legality
