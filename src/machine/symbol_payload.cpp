#include "machine/symbol_payload.h"

#include <algorithm>

namespace lanefold::machine {
namespace {

using lane::Op;

/// What is left where every NaN gives the same result.
Doubt hidden(Doubt doubt) { return doubt == Doubt::payload ? Doubt::none : doubt; }
/// What is left where the bits of a NaN are used as a number.
Doubt used_as_number(Doubt doubt) { return doubt == Doubt::none ? Doubt::none : Doubt::bits; }

}  // namespace

Doubt SymbolPayload::doubt(NodeId id) {
  const NodeId lowest = nodes_.take_lowest_marked();
  if (lowest < known_.size()) known_.resize(lowest);
  while (known_.size() <= id) {
    const auto next = static_cast<NodeId>(known_.size());
    const bool ruled = (nodes_.marks(next) & kRuleMarked) != 0;
    known_.push_back(std::max(from_operands(next), ruled ? Doubt::payload : Doubt::none));
  }
  return known_[id];
}

Doubt SymbolPayload::of_operands(NodeId id) const {
  Doubt most = Doubt::none;
  for (const NodeId operand : nodes_.operands(id)) most = std::max(most, known_[operand]);
  return most;
}

Doubt SymbolPayload::from_operands(NodeId id) const {
  const Node& node = nodes_[id];
  const Doubt operands = of_operands(id);
  switch (node.kind) {
    case NodeKind::constant:
    case NodeKind::argument:
    case NodeKind::input: return Doubt::none;
    case NodeKind::operation: return of_operation(node, operands);
    case NodeKind::set: return operands;
    // A helper is one of the library's own, which gives some NaN, or the same integer, whatever the payload of a NaN that it was
    // given. i64 stands for a pair of a value and its index, whose value keeps what is in doubt about it.
    case NodeKind::call:
      return node.type == ElementType::f32 || node.type == ElementType::i64 ? operands : hidden(operands);
    case NodeKind::narrow: return node.type == ElementType::i8 ? used_as_number(operands) : hidden(operands);
    case NodeKind::widen:
    // What a load or a join reads of an f32 is some of its bytes, or it would be the f32 itself.
    case NodeKind::join: return used_as_number(operands);
  }
  internal_error("symbols: a node of no kind");
}

Doubt SymbolPayload::of_operation(const Node& node, Doubt operands) const {
  switch (node.op) {
    case Op::bitcast: return operands;
    case Op::select: {
      const Doubt arms = std::max(known_[node.b], known_[node.c]);
      return std::max(arms, used_as_number(known_[node.a]));
    }
    case Op::convert: {
      const bool from_f32 = static_cast<ElementType>(node.c) == ElementType::f32;
      return from_f32 ? hidden(operands) : used_as_number(operands);
    }
    default: break;
  }
  if (node.type != ElementType::f32) return used_as_number(operands);
  return node.op == Op::canonical_nan || is_comparison(node.op) ? hidden(operands) : operands;
}

}  // namespace lanefold::machine
