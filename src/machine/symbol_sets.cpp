#include "machine/symbol_sets.h"

#include <algorithm>
#include <unordered_set>

#include "base/hash.h"

namespace lanefold::machine {
namespace {

using lane::Op;

/// Beyond so many elements a set is only equal to itself: multiplicities are counted in 64 bits.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 62;

}  // namespace

SymbolSets::Contents SymbolSets::contents_of(Op op, NodeId id) const {
  if (is_set_of(op, id)) return contents_[nodes_[id].c];
  return {1, hash_combine(id, static_cast<std::uint64_t>(op)), id};
}

SymbolSets::Made SymbolSets::make(Node node) {
  bool regrouped = false;
  const std::uint64_t key = hash_combine(std::uint64_t{node.a} << 32 | node.b, static_cast<std::uint64_t>(node.op));
  const auto same_tree = [&](std::uint32_t tree) {
    return trees_[tree].a == node.a && trees_[tree].b == node.b && trees_[tree].op == node.op;
  };
  const auto add_node = [&] {
    const auto place = static_cast<std::uint32_t>(contents_.size());
    node.c = place;
    contents_.push_back({0, 0, nodes_.add(node)});
    return place;
  };
  const auto add_tree = [&] {
    const Contents a = contents_of(node.op, node.a);
    const Contents b = contents_of(node.op, node.b);
    const std::uint64_t count = std::min(a.count + b.count, kMostElements + 1);
    const std::uint64_t hash = a.hash + b.hash;
    const std::size_t before = contents_.size();
    // The hash finds a likely node; only the elements themselves decide.
    const auto same_elements = [&](std::uint32_t place) {
      const Contents& other = contents_[place];
      if (other.count != count || other.hash != hash || nodes_[other.node].op != node.op) return false;
      const Node& tree = nodes_[other.node];
      return difference(node.op, {{node.a, 1}, {node.b, 1}, {tree.a, -1}, {tree.b, -1}}, 1).empty();
    };
    const std::uint32_t place = count > kMostElements
                                    ? add_node()
                                    : by_contents_.find_or_add(hash_combine(hash, count), same_elements, add_node);
    regrouped = place < before;
    contents_[place].count = count;
    contents_[place].hash = hash;
    trees_.push_back({node.a, node.b, node.op, contents_[place].node});
    return static_cast<std::uint32_t>(trees_.size() - 1);
  };
  const std::uint32_t tree = by_tree_.find_or_add(key, same_tree, add_tree);
  return {trees_[tree].node, regrouped};
}

std::vector<NodeId> SymbolSets::elements(NodeId set) const {
  const Op op = nodes_[set].op;
  std::vector<NodeId> found;
  std::vector<NodeId> open{set};
  std::unordered_set<NodeId> opened;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!is_set_of(op, id)) {
      found.push_back(id);
    } else if (opened.insert(id).second) {
      open.push_back(nodes_[id].a);
      open.push_back(nodes_[id].b);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<SymbolSets::Excess> SymbolSets::difference(NodeId left, NodeId right, std::size_t limit) const {
  if (std::max(count(left), count(right)) > kMostElements) return {{left, 1}, {right, -1}};
  return difference(nodes_[left].op, {{left, 1}, {right, -1}}, limit);
}

std::vector<SymbolSets::Excess> SymbolSets::difference(Op op, std::vector<Excess> heap, std::size_t limit) const {
  // Operands have smaller ids than their node. So once the largest id is taken, all that is known of it is together.
  std::vector<Excess> found;
  std::make_heap(heap.begin(), heap.end());
  const auto take = [&] {
    std::pop_heap(heap.begin(), heap.end());
    const Excess top = heap.back();
    heap.pop_back();
    return top;
  };
  while (!heap.empty() && found.size() < limit) {
    auto [id, excess] = take();
    while (!heap.empty() && heap.front().first == id) excess += take().second;
    if (excess == 0) continue;
    if (!is_set_of(op, id)) {
      found.emplace_back(id, excess);
      continue;
    }
    for (const NodeId part : {nodes_[id].a, nodes_[id].b}) {
      heap.emplace_back(part, excess);
      std::push_heap(heap.begin(), heap.end());
    }
  }
  return found;
}

}  // namespace lanefold::machine
