// The merges of argmax and argmin over symbols: sets of pairs of a value and its index.
#include <array>

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
