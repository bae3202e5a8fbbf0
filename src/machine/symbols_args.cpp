// The merges of argmax and argmin over symbols: sets of pairs of a value and its index.
#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "machine/symbols_table.h"

namespace lanefold::machine {
namespace {

using lane::Op;

// A set's operation is only an identity to the node table. These two are no arithmetic, so no other set has them.
constexpr Op kArgMax = Op::fold_lanes;
constexpr Op kArgMin = Op::permute2;

constexpr std::uint32_t kLargestIndex = 0x7fffffffu;

Op set_operation(std::string_view name) {
  if (name == "argmax") return kArgMax;
  if (name == "argmin") return kArgMin;
  internal_error("symbols: no merge of " + std::string(name));
}

/// The set whose kept value and index these are, or kNoNode.
NodeId set_behind(const SymbolNodes& nodes, std::uint32_t name, NodeId value, NodeId index) {
  const Node& v = nodes[value];
  const Node& i = nodes[index];
  if (v.kind != NodeKind::call || i.kind != NodeKind::call || v.a != name || i.a != name || v.c != 0 || i.c != 1)
    return kNoNode;
  return v.b == i.b && nodes.operands(value).size() == 1 ? nodes.operands(value)[0] : kNoNode;
}

bool is_identity(const SymbolNodes& nodes, Op op, NodeId value, NodeId index) {
  const std::uint64_t least = op == kArgMax ? 0xff800000u : 0x7f800000u;
  return nodes.is_constant(value) && nodes.is_constant(index) && nodes.constant_bits(value) == least &&
         nodes.constant_bits(index) == kLargestIndex;
}

}  // namespace

std::string parameter_symbol(std::uint32_t index) { return "parameter" + std::to_string(index); }

bool Symbols::arg_order_may_matter(NodeId node) {
  const SymbolNodes& nodes = table_->nodes;
  std::vector<bool>& looked_at = table_->arg_sets_checked;
  looked_at.resize(nodes.size());
  std::vector<NodeId> open{node};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (looked_at[id]) continue;
    const bool is_arg_set = nodes[id].kind == NodeKind::set && (nodes[id].op == kArgMax || nodes[id].op == kArgMin);
    if (!is_arg_set) {
      const std::span<const NodeId> below = nodes.operands(id);
      open.insert(open.end(), below.begin(), below.end());
      looked_at[id] = true;
      continue;
    }
    std::unordered_set<std::uint64_t> indices;
    const std::vector<NodeId> pairs = table_->sets.elements(id);
    if (table_->sets.count(id) != pairs.size()) return true;
    for (const NodeId pair : pairs) {
      const NodeId value = nodes.operands(pair)[0], index = nodes.operands(pair)[1];
      if (!nodes.is_constant(index) || !indices.insert(nodes.constant_bits(index)).second) return true;
      open.push_back(value);
    }
    looked_at[id] = true;
  }
  return false;
}

bool Symbols::is_later_arg(std::string_view name, NodeId value, NodeId index, NodeId later) {
  SymbolNodes& nodes = table_->nodes;
  const Op op = set_operation(name);
  if (!nodes.is_constant(later) || is_identity(nodes, op, value, index)) return false;
  const auto below = [&](NodeId i) {
    return nodes.is_constant(i) &&
           static_cast<std::int32_t>(nodes.constant_bits(i)) < static_cast<std::int32_t>(nodes.constant_bits(later));
  };
  const NodeId set = set_behind(nodes, nodes.name(name), value, index);
  if (set == kNoNode) return below(index);
  for (const NodeId pair : table_->sets.elements(set))
    if (!below(nodes.operands(pair)[1])) return false;
  return true;
}

std::array<NodeId, 2> Symbols::merge_arg(std::string_view name, NodeId value, NodeId index, NodeId other_value,
                                         NodeId other_index) {
  SymbolNodes& nodes = table_->nodes;
  const Op op = set_operation(name);
  if (is_identity(nodes, op, value, index)) return {other_value, other_index};
  if (is_identity(nodes, op, other_value, other_index)) return {value, index};
  const std::uint32_t number = nodes.name(name);
  const auto state = [&](NodeId v, NodeId i) {
    if (const NodeId set = set_behind(nodes, number, v, i); set != kNoNode) return set;
    return call("pair", std::array{v, i}, 0, ElementType::i64);
  };
  Node node{.kind = NodeKind::set, .op = op, .type = ElementType::i64, .size = 8};
  node.a = state(value, index);
  node.b = state(other_value, other_index);
  if (node.a > node.b) std::swap(node.a, node.b);
  const std::array<NodeId, 1> set = {table_->sets.make(node).node};
  return {call(name, set, 0, ElementType::f32), call(name, set, 1, ElementType::i32)};
}

}  // namespace lanefold::machine
