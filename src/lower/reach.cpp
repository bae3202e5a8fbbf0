#include "lower/reach.h"

#include <algorithm>

namespace lanefold::lower {

using ir::Kind;

std::vector<ir::ValueId> along_row_values(const ir::Program& program, const std::vector<ir::ValueId>& roots,
                                          bool through_blocks) {
  std::vector<ir::ValueId> work = roots, found;
  std::vector<bool> seen(program.values.size(), false);
  while (!work.empty()) {
    const ir::ValueId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const ir::Value& value = program.values[id];
    if (value.kind.tag == Kind::Tag::uniform || value.kind.tag == Kind::Tag::row) continue;
    found.push_back(id);
    work.insert(work.end(), value.operands.begin(), value.operands.end());
    if (value.op == ir::Op::fold_result && through_blocks) {
      const std::vector<ir::ValueId>& arguments = program.folds[value.index].arguments;
      work.insert(work.end(), arguments.begin(), arguments.end());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::uint32_t> block_folds(const ir::Program& program, const std::vector<ir::ValueId>& roots,
                                       bool through_blocks) {
  std::vector<std::uint32_t> folds;
  for (ir::ValueId id : along_row_values(program, roots, through_blocks))
    if (program.values[id].op == ir::Op::fold_result) folds.push_back(program.values[id].index);
  std::sort(folds.begin(), folds.end());
  folds.erase(std::unique(folds.begin(), folds.end()), folds.end());
  return folds;
}

}  // namespace lanefold::lower
