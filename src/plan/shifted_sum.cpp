#include "plan/shifted_sum.h"

#include <algorithm>
#include <optional>

namespace lanefold::plan {
namespace {

using ir::ValueId;

/// Values, folds and stores that take each value.
std::vector<std::uint32_t> count_uses(const ir::Program& program) {
  std::vector<std::uint32_t> uses(program.values.size(), 0);
  for (const ir::Value& value : program.values)
    for (const ValueId operand : value.operands) ++uses[operand];
  for (const ir::Fold& fold : program.folds)
    for (const ValueId argument : fold.arguments) ++uses[argument];
  for (const ir::Store& store : program.stores) ++uses[store.value];
  return uses;
}

bool is_row_fold(const ir::Program& program, std::uint32_t fold, std::string_view monoid) {
  const ir::Fold& f = program.folds[fold];
  const ir::Monoid& m = program.monoids[f.monoid];
  return f.block == 0 && f.axis == ir::Axis::cols && m.builtin && m.name == monoid &&
         m.state[0].type == ElementType::f32;
}

}  // namespace

std::vector<ShiftedSum> shifted_sums(const ir::Program& program) {
  const std::vector<std::uint32_t> uses = count_uses(program);
  std::vector<ShiftedSum> found;
  for (std::uint32_t f = 0; f < program.folds.size(); ++f) {
    if (!is_row_fold(program, f, "sum")) continue;
    const ValueId argument = program.folds[f].arguments[0];
    const ir::Value& exponential = program.values[argument];
    if (exponential.op != ir::Op::exp || uses[argument] != 1) continue;
    const ValueId shifted = exponential.operands[0];
    const ir::Value& difference = program.values[shifted];
    if (difference.op != ir::Op::sub || uses[shifted] != 1) continue;
    const ir::Value& shift = program.values[difference.operands[1]];
    if (shift.op != ir::Op::fold_result || !is_row_fold(program, shift.index, "max")) continue;
    if (program.folds[shift.index].arguments[0] != difference.operands[0]) continue;
    const bool taken =
        std::any_of(found.begin(), found.end(), [&](const ShiftedSum& other) { return other.max == shift.index; });
    if (!taken) found.push_back({.max = shift.index, .sum = f});
  }
  return found;
}

}  // namespace lanefold::plan
