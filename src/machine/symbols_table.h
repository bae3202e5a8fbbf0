// What stands behind Symbols, shared by the files that implement it.
#pragma once

#include <unordered_map>
#include <vector>

#include "machine/symbol_nodes.h"
#include "machine/symbol_payload.h"
#include "machine/symbol_sets.h"
#include "machine/symbols.h"

namespace lanefold::machine {

struct Symbols::Table {
  SymbolNodes nodes;
  SymbolSets sets{nodes};
  SymbolPayload payload{nodes};
  /// The elements of sets that max_contains was asked about: each lane may have a row, and so a set, of its own.
  std::unordered_map<NodeId, std::vector<NodeId>> set_elements;
  std::vector<bool> arg_sets_checked;  ///< by node: arg_order_may_matter has found nothing there
};

}  // namespace lanefold::machine
