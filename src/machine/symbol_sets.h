// Folds of an associative and commutative operation over symbols: equal where they fold the same elements equally
// often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "machine/symbol_nodes.h"

namespace lanefold::machine {

/// The set nodes of a SymbolNodes, each a binary node over elements and smaller sets of the same operation; elements
/// keep their multiplicity. Whatever tree and order the elements are folded in, they give one node.
class SymbolSets {
 public:
  explicit SymbolSets(SymbolNodes& nodes) : nodes_(nodes) {}

  struct Made {
    NodeId node;
    bool regrouped;  ///< the node was there already, as another tree, and is asked for as this one for the first time
  };
  /// The set of the elements of a and b, a ≤ b. `node` says operation, type and size.
  Made make(Node node);

  /// The elements of a set, each once, by ascending id.
  std::vector<NodeId> elements(NodeId set) const;

  /// An element and how much more often the left side has it than the right side, never 0.
  using Excess = std::pair<NodeId, std::int64_t>;
  /// In what elements two sets of one operation differ, the latest nodes first; stops after `limit` of them. Takes only
  /// as long as they differ: parts that both have are not opened. Sets of more than 2^62 elements are not compared, and
  /// differ in themselves.
  std::vector<Excess> difference(NodeId left, NodeId right, std::size_t limit) const;
  /// How many elements a set has, with multiplicity; above 2^62 for more.
  std::uint64_t count(NodeId set) const { return contents_[nodes_[set].c].count; }

 private:
  /// Of a set: its size, and the sum of its elements' hashes, which no order changes.
  struct Contents {
    std::uint64_t count;
    std::uint64_t hash;
    NodeId node;
  };
  /// A tree that was asked for and the node that it is.
  struct Tree {
    NodeId a;
    NodeId b;
    lane::Op op;
    NodeId node;
  };
  bool is_set_of(lane::Op op, NodeId id) const { return nodes_[id].kind == NodeKind::set && nodes_[id].op == op; }
  Contents contents_of(lane::Op op, NodeId id) const;
  std::vector<Excess> difference(lane::Op op, std::vector<Excess> heap, std::size_t limit) const;

  SymbolNodes& nodes_;
  std::vector<Contents> contents_;
  std::vector<Tree> trees_;
  HashedIds by_tree_;
  HashedIds by_contents_;
};

}  // namespace lanefold::machine
