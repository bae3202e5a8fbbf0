// Where the payload of a NaN may be another than an expression says, because of the rules that were applied below it.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/symbol_nodes.h"

namespace lanefold::machine {

/// How far two computations that the rules made one node may lie apart.
enum class Doubt : std::uint8_t {
  none,     ///< the same bits
  payload,  ///< the same bits, or two NaNs where the node is taken as f32
  bits,     ///< the payload was used as a number: any bits
};

class SymbolPayload {
 public:
  explicit SymbolPayload(SymbolNodes& nodes) : nodes_(nodes) {}

  /// The doubt about a node, as far as rules have been applied by now.
  Doubt doubt(NodeId id);

 private:
  Doubt from_operands(NodeId id) const;
  Doubt of_operation(const Node& node, Doubt operands) const;
  Doubt of_operands(NodeId id) const;

  SymbolNodes& nodes_;
  std::vector<Doubt> known_;  // of nodes 0, 1, 2, …: operands come before the nodes that use them
};

}  // namespace lanefold::machine
