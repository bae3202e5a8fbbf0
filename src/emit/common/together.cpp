#include "emit/common/together.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "emit/common/usage.h"

namespace lanefold::emit {
namespace {

using lane::Op;
using lane::Statement;
using lane::ValueId;

/// Whether the statement does nothing but compute its results, from values or from elements of register arrays.
bool only_computes(const Statement& s) {
  switch (s.op) {
    case Op::set:
    case Op::load:
    case Op::store:
    case Op::shared_load:
    case Op::shared_store:
    case Op::peer_load:
    case Op::peer_store:
    case Op::shuffle:
    case Op::shuffle_xor:
    case Op::shuffle_down:
    case Op::permute2:
    case Op::fold_lanes:
    case Op::barrier:
    case Op::simd_barrier:
    case Op::cluster_barrier:
    case Op::exchange:
    case Op::branch:
    case Op::loop: return false;
    default: return true;
  }
}

/// Nothing moves over these.
bool ends_search(const Statement& s) {
  return !s.body.empty() || !s.otherwise.empty() || s.op == Op::barrier || s.op == Op::simd_barrier ||
         s.op == Op::cluster_barrier || s.op == Op::exchange;
}

class Block {
 public:
  Block(const std::vector<Statement>& statements, const MostTogether& most)
      : statements_(statements), most_(most), written_(statements.size()) {
    for (std::size_t i = 0; i < statements.size(); ++i)
      for (std::uint32_t k = 0; k < statements[i].results; ++k) defined_at_[statements[i].result + k] = i;
  }

  std::vector<Statement> run() {
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      if (written_[i]) continue;
      std::vector<std::size_t> group{i};
      if (most_(statements_[i]) > 1) gather(group);
      for (const std::size_t call : group) write(call);
    }
    return std::move(result_);
  }

 private:
  void write(std::size_t i) {
    written_[i] = true;
    result_.push_back(statements_[i]);
    result_.back().body = bring_together(statements_[i].body, most_);
    result_.back().otherwise = bring_together(statements_[i].otherwise, most_);
  }

  void gather(std::vector<std::size_t>& group) {
    const std::size_t first = group[0], most = most_(statements_[first]);
    Memory changed;
    for (std::size_t i = first + 1; i < statements_.size() && group.size() < most; ++i) {
      const Statement& s = statements_[i];
      if (ends_search(s)) return;
      changed.add(changed_by(s));
      if (written_[i] || !are_alike(statements_[first], s)) continue;
      std::vector<std::size_t> needed;
      if (!find_needed(i, group, changed, needed)) return;
      std::sort(needed.begin(), needed.end());
      for (const std::size_t n : needed)
        if (!written_[n]) write(n);
      group.push_back(i);
    }
  }

  /// What is to be written before statement i, which is to stand beside the group; false where something of it may not move.
  bool find_needed(std::size_t i, const std::vector<std::size_t>& group, const Memory& changed,
                   std::vector<std::size_t>& needed) const {
    for (const ValueId v : statements_[i].operands) {
      const auto found = defined_at_.find(v);
      if (found == defined_at_.end() || written_[found->second]) continue;
      const std::size_t from = found->second;
      const bool moves = only_computes(statements_[from]) && !changed.meets(read_by(statements_[from])) &&
                         std::find(group.begin(), group.end(), from) == group.end();
      if (!moves) return false;
      if (std::find(needed.begin(), needed.end(), from) != needed.end()) continue;
      needed.push_back(from);
      if (!find_needed(from, group, changed, needed)) return false;
    }
    return true;
  }

  const std::vector<Statement>& statements_;
  const MostTogether& most_;
  std::vector<bool> written_;
  std::unordered_map<ValueId, std::size_t> defined_at_;
  std::vector<Statement> result_;
};

}  // namespace

bool are_alike(const Statement& a, const Statement& b) { return a.op == Op::call && b.op == Op::call && a.a == b.a; }

std::vector<Statement> bring_together(const std::vector<Statement>& block, const MostTogether& most) {
  return Block(block, most).run();
}

}  // namespace lanefold::emit
