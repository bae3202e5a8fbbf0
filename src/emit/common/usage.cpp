#include "emit/common/usage.h"

#include <algorithm>

namespace lanefold::emit {

using lane::Op;
using lane::Statement;

void Memory::add(const Memory& other) {
  buffers |= other.buffers;
  shared |= other.shared;
  elements.insert(elements.end(), other.elements.begin(), other.elements.end());
}

bool Memory::meets(const Memory& other) const {
  if ((buffers && other.buffers) || (shared && other.shared)) return true;
  return std::any_of(elements.begin(), elements.end(), [&](const auto& element) {
    return std::find(other.elements.begin(), other.elements.end(), element) != other.elements.end();
  });
}

Memory changed_by(const Statement& s) {
  Memory memory;
  switch (s.op) {
    case Op::set: memory.elements.emplace_back(s.a, s.b); break;
    case Op::store: memory.buffers = true; break;
    case Op::shared_store:
    case Op::peer_store:
    case Op::exchange: memory.shared = true; break;
    case Op::barrier:
    case Op::simd_barrier:
    case Op::cluster_barrier: memory.buffers = memory.shared = true; break;
    default: break;
  }
  for (const Statement& inner : s.body) memory.add(changed_by(inner));
  for (const Statement& inner : s.otherwise) memory.add(changed_by(inner));
  return memory;
}

Memory read_by(const Statement& s) {
  Memory memory;
  if (s.op == Op::get) memory.elements.emplace_back(s.a, s.b);
  memory.buffers = s.op == Op::load;
  memory.shared = s.op == Op::shared_load || s.op == Op::peer_load;
  return memory;
}

Usage::Usage(const std::vector<Statement>& body, std::size_t values, const std::vector<lane::ValueId>& returned)
    : uses_(values) {
  for (const lane::ValueId v : returned) ++uses_[v].count;
  visit(body, blocks_++);
}

bool Usage::is_dead(const Statement& s) const {
  if (s.results == 0 || s.op == Op::loop) return false;
  for (std::uint32_t i = 0; i < s.results; ++i)
    if (uses_[s.result + i].count != 0) return false;
  return true;
}

// Backwards, so that the uses by what is dead itself are never counted.
void Usage::visit(const std::vector<Statement>& block, std::uint32_t number) {
  for (auto s = block.rbegin(); s != block.rend(); ++s) {
    for (std::uint32_t i = 0; i < s->results; ++i) {
      Use& use = uses_[s->result + i];
      use.elsewhere = use.elsewhere || (use.count > 0 && use.used_in != number);
    }
    if (is_dead(*s)) continue;
    if (!s->otherwise.empty()) visit(s->otherwise, blocks_++);
    if (!s->body.empty()) visit(s->body, blocks_++);
    for (const lane::ValueId v : s->operands) {
      Use& use = uses_[v];
      use.elsewhere = use.elsewhere || (use.count > 0 && use.used_in != number);
      ++use.count;
      use.used_in = number;
    }
  }
}

}  // namespace lanefold::emit
