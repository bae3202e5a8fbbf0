#include "emit/common/sweeps.h"

#include <algorithm>

namespace lanefold::emit {

using lane::Op;
using lane::Statement;

bool ends_sweep(const Statement& s) {
  return s.op == Op::barrier || s.op == Op::cluster_barrier || s.op == Op::exchange;
}

Sweeps::Sweeps(const std::vector<Statement>& body, std::size_t values,
               const std::function<bool(const Statement&)>& is_dead)
    : uses_(values) {
  std::uint32_t sweep = 0;
  for (const Statement& s : body) {
    visit(s, sweep, is_dead);
    if (ends_sweep(s)) ++sweep;
  }
}

void Sweeps::visit(const Statement& s, std::uint32_t sweep, const std::function<bool(const Statement&)>& is_dead) {
  for (std::uint32_t i = 0; i < s.results; ++i) uses_[s.result + i].defined = sweep;
  if (is_dead(s)) return;
  for (const lane::ValueId v : s.operands) {
    std::vector<std::uint32_t>& counts = uses_[v].counts;
    counts.resize(std::max<std::size_t>(counts.size(), sweep + 1));
    ++counts[sweep];
  }
  for (const Statement& inner : s.body) visit(inner, sweep, is_dead);
  for (const Statement& inner : s.otherwise) visit(inner, sweep, is_dead);
}

std::uint32_t Sweeps::last(lane::ValueId v) const {
  return uses_[v].counts.empty() ? uses_[v].defined : static_cast<std::uint32_t>(uses_[v].counts.size()) - 1;
}

std::uint32_t Sweeps::count(lane::ValueId v, std::uint32_t sweep) const {
  return sweep < uses_[v].counts.size() ? uses_[v].counts[sweep] : 0;
}

}  // namespace lanefold::emit
