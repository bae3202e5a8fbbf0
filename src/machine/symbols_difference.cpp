// Where two symbolic expressions part.
#include <algorithm>
#include <tuple>

#include "machine/symbols.h"
#include "machine/symbols_table.h"

namespace lanefold::machine {
namespace {

using lane::Op;
using Pair = std::pair<NodeId, NodeId>;

/// Whether the nodes are the same operation of as many operands, whatever these are, or both leaves of one kind.
bool alike(const SymbolNodes& nodes, NodeId a, NodeId b) {
  const Node& left = nodes[a];
  const Node& right = nodes[b];
  if (left.kind != right.kind || left.op != right.op || left.type != right.type || left.size != right.size)
    return false;
  switch (left.kind) {
    case NodeKind::operation: return (left.op != Op::convert && left.op != Op::bitcast) || left.c == right.c;
    case NodeKind::call:
      return left.a == right.a && left.c == right.c && nodes.operands(a).size() == nodes.operands(b).size();
    case NodeKind::join: return std::ranges::equal(nodes.join_indices(a), nodes.join_indices(b));
    default: return true;
  }
}

bool commutes(const Node& node) {
  return node.kind == NodeKind::operation && node.type == ElementType::f32 &&
         (node.op == Op::add || node.op == Op::mul || node.op == Op::fma);
}

/// The operands of two like nodes that differ, paired.
std::vector<Pair> differing_operands(const SymbolNodes& nodes, NodeId a, NodeId b) {
  const std::span<const NodeId> left = nodes.operands(a);
  const std::span<const NodeId> right = nodes.operands(b);
  bool crossed = false;
  if (commutes(nodes[a])) {
    const bool straight_meets = left[0] == right[0] || left[1] == right[1];
    const bool crossed_meets = left[0] == right[1] || left[1] == right[0];
    const bool straight_alike = alike(nodes, left[0], right[0]) && alike(nodes, left[1], right[1]);
    const bool crossed_alike = alike(nodes, left[0], right[1]) && alike(nodes, left[1], right[0]);
    crossed = !straight_meets && (crossed_meets || (!straight_alike && crossed_alike));
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const NodeId other = right[crossed && i < 2 ? 1 - i : i];
    if (left[i] != other) pairs.emplace_back(left[i], other);
  }
  return pairs;
}

/// The one element in which two sets of one operation differ, each against the other's; nothing where it is not one.
std::vector<Pair> differing_elements(const SymbolSets& sets, NodeId a, NodeId b) {
  const std::vector<SymbolSets::Excess> excess = sets.difference(a, b, 3);
  if (excess.size() != 2 || excess[0].second + excess[1].second != 0) return {};
  const std::size_t left = excess[0].second > 0 ? 0 : 1;
  const Pair pair{excess[left].first, excess[1 - left].first};
  if (pair == Pair{a, b}) return {};
  return {pair};
}

}  // namespace

std::pair<NodeId, NodeId> Symbols::first_difference(NodeId a, NodeId b) const {
  const SymbolNodes& nodes = table_->nodes;
  // Every step goes to operands, whose ids are smaller.
  while (a != b && alike(nodes, a, b)) {
    const std::vector<Pair> pairs =
        nodes[a].kind == NodeKind::set ? differing_elements(table_->sets, a, b) : differing_operands(nodes, a, b);
    const bool all_alike =
        std::ranges::all_of(pairs, [&](const Pair& pair) { return alike(nodes, pair.first, pair.second); });
    if (pairs.empty() || (pairs.size() > 1 && !all_alike)) break;
    std::tie(a, b) = pairs.front();
  }
  return {a, b};
}

}  // namespace lanefold::machine
