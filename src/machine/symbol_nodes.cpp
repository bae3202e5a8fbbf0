#include "machine/symbol_nodes.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/hash.h"

namespace lanefold::machine {

using lane::Op;

namespace {

/// A hash for the table alone, quicker than those of base/hash.h: most of the time goes into making nodes.
std::uint64_t hash_of(const Node& node) {
  constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15u;  // odd, with bits all over
  constexpr std::uint64_t kSecond = 0xd6e8feb86659fd93u;
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(node);
  std::uint64_t hash = halves[0] * kFirst;
  hash = ((hash ^ hash >> 32) + halves[1]) * kSecond;
  hash = (hash ^ hash >> 29) * kFirst;
  return hash ^ hash >> 32;
}

}  // namespace

void HashedIds::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id == kNoNode) continue;
    std::size_t at = slot.key & (slots_.size() - 1);
    while (slots_[at].id != kNoNode) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

NodeId SymbolNodes::add(const Node& node) {
  if (nodes_.size() >= kNoNode) internal_error("symbols: more than 2^32 nodes");
  nodes_.push_back(node);
  marks_.push_back(0);
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId SymbolNodes::make(const Node& node, std::uint8_t marks) {
  return by_contents_.find_or_add(
      hash_of(node), [&](NodeId id) { return nodes_[id] == node; },
      [&] {
        const NodeId id = add(node);
        marks_[id] = marks;
        return id;
      });
}

void SymbolNodes::mark_rule(NodeId id) {
  if ((marks_[id] & kRuleMarked) != 0) return;
  marks_[id] |= kRuleMarked;
  lowest_marked_ = std::min(lowest_marked_, id);
}

void SymbolNodes::mark_order(NodeId id, bool swapped) {
  marks_[id] |= swapped ? kSwapped : kInOrder;
  if ((marks_[id] & kSwapped) != 0 && (marks_[id] & kInOrder) != 0) mark_rule(id);
}

NodeId SymbolNodes::take_lowest_marked() {
  const NodeId lowest = lowest_marked_;
  lowest_marked_ = kNoNode;
  return lowest;
}

std::uint32_t SymbolNodes::name(std::string_view text) {
  const auto found = name_numbers_.find(text);
  if (found != name_numbers_.end()) return found->second;
  names_.emplace_back(text);
  const auto number = static_cast<std::uint32_t>(names_.size() - 1);
  name_numbers_.emplace(names_.back(), number);
  return number;
}

std::uint32_t SymbolNodes::list(std::span<const std::uint32_t> values) {
  return lists_by_contents_.find_or_add(
      hash_bytes(values.data(), values.size_bytes()),
      [&](std::uint32_t list) { return std::ranges::equal(list_values(list), values); },
      [&] {
        list_data_.insert(list_data_.end(), values.begin(), values.end());
        list_begins_.push_back(list_data_.size());
        return static_cast<std::uint32_t>(list_begins_.size() - 2);
      });
}

std::span<const std::uint32_t> SymbolNodes::list_values(std::uint32_t list) const {
  return {list_data_.data() + list_begins_[list], list_begins_[list + 1] - list_begins_[list]};
}

std::span<const NodeId> SymbolNodes::operands(NodeId id) const {
  const Node& node = nodes_[id];
  switch (node.kind) {
    case NodeKind::constant:
    case NodeKind::argument:
    case NodeKind::input: return {};
    // a, b and c follow one another in the node.
    case NodeKind::operation: return {&node.a, node.b == kNoNode ? 1u : node.c == kNoNode ? 2u : 3u};
    case NodeKind::set: return {&node.a, 2};
    case NodeKind::narrow:
    case NodeKind::widen: return {&node.a, 1};
    case NodeKind::call: return list_values(node.b);
    case NodeKind::join: return list_values(node.a).first(node.size);
  }
  internal_error("symbols: a node of no kind");
}

std::span<const std::uint32_t> SymbolNodes::join_indices(NodeId id) const {
  return list_values(nodes_[id].a).subspan(nodes_[id].size);
}

NodeId SymbolNodes::constant(std::uint64_t bits, std::size_t size, bool real) {
  return make({.size = static_cast<std::uint8_t>(size),
               .a = static_cast<std::uint32_t>(bits),
               .b = static_cast<std::uint32_t>(bits >> 32)},
              static_cast<std::uint8_t>(real ? kReal : 0));
}

std::int64_t SymbolNodes::input_offset(NodeId id) const {
  return static_cast<std::int64_t>(std::uint64_t{nodes_[id].c} << 32 | nodes_[id].b);
}

bool SymbolNodes::is_boolean(NodeId id) const {
  const Node& node = nodes_[id];
  if (node.kind == NodeKind::constant) return node.size == 1 && node.a <= 1;
  if (node.kind == NodeKind::operation && is_comparison(node.op)) return true;
  const bool typed = node.kind == NodeKind::operation || node.kind == NodeKind::set ||
                     node.kind == NodeKind::argument || node.kind == NodeKind::call || node.kind == NodeKind::widen;
  return typed && node.type == ElementType::boolean;
}

bool is_comparison(Op op) {
  switch (op) {
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge: return true;
    default: return false;
  }
}

}  // namespace lanefold::machine
