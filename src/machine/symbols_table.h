// What stands behind Symbols, shared by the files that implement it.
#pragma once

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
  NodeId last_set = kNoNode;  ///< the set that max_contains was last asked about
  std::vector<NodeId> last_set_elements;
};

}  // namespace lanefold::machine
