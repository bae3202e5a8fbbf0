#include "machine/symbols.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lane/typing.h"
#include "machine/arithmetic.h"
#include "machine/symbols_table.h"

namespace lanefold::machine {
namespace {

using lane::Op;

constexpr std::uint64_t kMinusZero = 0x80000000u;
constexpr std::uint64_t kOne = 0x3f800000u;
constexpr std::size_t kMostRememberedSets = 1024;

bool is_nan_f32(Word bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

/// Whether the payload of a NaN that the operation gives is that of an operand, chosen and quietened as the device has
/// it.
bool chooses_payload(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::fma:
    case Op::min:
    case Op::max:
    case Op::sqrt:
    case Op::trunc: return true;
    default: return false;
  }
}

bool is_f32_constant(const SymbolNodes& nodes, NodeId id, std::uint64_t bits) {
  return nodes.is_constant(id) && nodes[id].size == 4 && nodes.constant_bits(id) == bits;
}

bool is_set_operation(Op op, ElementType type) {
  if (type == ElementType::f32) return op == Op::max || op == Op::min;
  return type == ElementType::boolean && (op == Op::bit_and || op == Op::bit_or);
}

/// Whether the only NaN that the node can be is the canonical one, which is quiet: an operation that does nothing leaves it as it is.
bool has_one_nan(const SymbolNodes& nodes, NodeId id) {
  const Node& node = nodes[id];
  return (node.kind == NodeKind::operation && node.op == Op::canonical_nan) ||
         (node.kind == NodeKind::widen && is_float(node.type));
}

std::uint64_t set_identity(Op op) {
  switch (op) {
    case Op::max: return 0xff800000u;
    case Op::min: return 0x7f800000u;
    case Op::bit_and: return 1;
    default: return 0;
  }
}

void check_operand(const SymbolNodes& nodes, NodeId id, ElementType type, std::string_view what) {
  const bool fits = id < nodes.size() && nodes[id].size == element_bytes(type) &&
                    (type != ElementType::boolean || nodes.is_boolean(id));
  if (!fits) {
    internal_error("symbols: an operand of " + std::string(what) + " is no " + std::string(element_name(type)));
  }
}

NodeId made_constant(SymbolNodes& nodes, ElementType type, Word bits) {
  return nodes.constant(lane::normal_bits(type, bits), element_bytes(type), type == ElementType::f32);
}

/// The operation on constants, computed; nothing where it lies outside its domain.
std::optional<NodeId> computed(SymbolNodes& nodes, Op op, ElementType type, std::span<const NodeId> operands) {
  std::array<Word, 3> words{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!nodes.is_constant(operands[i])) return std::nullopt;
    words[i] = nodes.constant_bits(operands[i]);
  }
  Word result = 0;
  const LaneMask outside =
      compute(op, type, {.width = 1, .mask = 1, .a = &words[0], .b = &words[1], .c = &words[2], .out = &result});
  if (outside != 0) return std::nullopt;
  const NodeId node = made_constant(nodes, is_comparison(op) ? ElementType::boolean : type, result);
  if (type == ElementType::f32 && chooses_payload(op) && is_nan_f32(result)) nodes.mark_rule(node);
  return node;
}

Node operation(Op op, ElementType type, std::span<const NodeId> operands) {
  Node node{.kind = NodeKind::operation, .op = op, .type = type};
  node.size = static_cast<std::uint8_t>(element_bytes(is_comparison(op) ? ElementType::boolean : type));
  node.a = operands[0];
  if (operands.size() > 1) node.b = operands[1];
  if (operands.size() > 2) node.c = operands[2];
  return node;
}

}  // namespace

Symbols::Symbols() : table_(std::make_unique<Table>()) {}
Symbols::~Symbols() = default;

std::size_t Symbols::size() const { return table_->nodes.size(); }

NodeId Symbols::constant(ElementType type, Word bits) {
  if (!lane::is_register_type(type)) internal_error("symbols: a constant of a type that is no register's");
  return made_constant(table_->nodes, type, bits);
}

NodeId Symbols::argument(std::string_view name, ElementType type) {
  if (!lane::is_register_type(type)) internal_error("symbols: an argument of a type that is no register's");
  return table_->nodes.make({.kind = NodeKind::argument,
                             .type = type,
                             .size = static_cast<std::uint8_t>(element_bytes(type)),
                             .a = table_->nodes.name(name)});
}

NodeId Symbols::apply(Op op, ElementType type, std::span<const NodeId> operands) {
  SymbolNodes& nodes = table_->nodes;
  if (!lane::is_plain_arithmetic(op) || !lane::is_register_type(type) ||
      operands.size() != static_cast<std::size_t>(lane::op_operands(op))) {
    internal_error("symbols: no operation " + std::string(lane::op_name(op)) + " on so many operands of such a type");
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool chooser = op == Op::select && i == 0;
    check_operand(nodes, operands[i], chooser ? ElementType::boolean : type, lane::op_name(op));
  }
  const bool is_set = is_set_operation(op, type);
  const bool commutes = is_set || (type == ElementType::f32 && (op == Op::add || op == Op::mul || op == Op::fma));
  Node node = operation(op, type, operands);
  const bool swapped = commutes && node.a > node.b;
  if (swapped) std::swap(node.a, node.b);
  const std::array<NodeId, 3> ordered{node.a, node.b, node.c};  // constants too: of two NaNs the order chooses one
  if (const auto constant = computed(nodes, op, type, std::span(ordered).first(operands.size()))) return *constant;
  if (op == Op::select && nodes.is_constant(node.a)) return nodes.constant_bits(node.a) != 0 ? node.b : node.c;
  if (!commutes) return nodes.make(node);

  // What an operation that does nothing is dropped from is not quietened, and a NaN's payload shows it.
  const auto dropped_to = [&](NodeId rest) {
    if (type == ElementType::f32 && !has_one_nan(nodes, rest)) nodes.mark_rule(rest);
    return rest;
  };
  for (const int side : {0, 1}) {
    const NodeId one = side == 0 ? node.a : node.b;
    const NodeId other = side == 0 ? node.b : node.a;
    if (op == Op::add && is_f32_constant(nodes, one, kMinusZero)) return dropped_to(other);
    if (op == Op::mul && is_f32_constant(nodes, one, kOne)) return dropped_to(other);
    if (is_set && nodes.is_constant(one) && nodes.constant_bits(one) == set_identity(op)) return dropped_to(other);
  }
  if (op == Op::fma && is_f32_constant(nodes, node.c, kMinusZero)) {
    return dropped_to(apply(Op::mul, type, operands.first(2)));
  }

  bool regrouped = false;
  NodeId made = kNoNode;
  if (is_set) {
    node.kind = NodeKind::set;
    const SymbolSets::Made set = table_->sets.make(node);
    made = set.node;
    regrouped = set.regrouped;
  } else {
    made = nodes.make(node);
  }
  if (type == ElementType::f32) {
    if (node.a != node.b) nodes.mark_order(made, swapped);
    if (regrouped) nodes.mark_rule(made);
  }
  return made;
}

NodeId Symbols::convert(ElementType from, ElementType to, NodeId value) {
  SymbolNodes& nodes = table_->nodes;
  check_operand(nodes, value, from, "convert");
  if (!lane::convertible(from, to)) internal_error("symbols: no such conversion");
  if (nodes.is_constant(value)) {
    const Word word = nodes.constant_bits(value);
    Word result = 0;
    machine::convert(from, to, {.width = 1, .mask = 1, .a = &word, .out = &result});
    return made_constant(nodes, to, result);
  }
  Node node = operation(Op::convert, to, {&value, 1});
  node.c = static_cast<std::uint32_t>(from);
  return nodes.make(node);
}

NodeId Symbols::bitcast(ElementType from, ElementType to, NodeId value) {
  SymbolNodes& nodes = table_->nodes;
  check_operand(nodes, value, from, "bitcast");
  if (!lane::bitcastable(from, to)) internal_error("symbols: no such bitcast");
  if (nodes.is_constant(value)) return made_constant(nodes, to, nodes.constant_bits(value));
  const Node& below = nodes[value];
  if (below.kind == NodeKind::operation && below.op == Op::bitcast && below.type == from &&
      static_cast<ElementType>(below.c) == to) {
    return below.a;
  }
  Node node = operation(Op::bitcast, to, {&value, 1});
  node.c = static_cast<std::uint32_t>(from);
  return nodes.make(node);
}

NodeId Symbols::call(std::string_view name, std::span<const NodeId> arguments, std::uint32_t index, ElementType type) {
  SymbolNodes& nodes = table_->nodes;
  if (!lane::is_register_type(type)) internal_error("symbols: a call's result of a type that is no register's");
  for (const NodeId argument : arguments) {
    if (argument >= nodes.size()) internal_error("symbols: a call of what is no node");
  }
  return nodes.make({.kind = NodeKind::call,
                     .type = type,
                     .size = static_cast<std::uint8_t>(element_bytes(type)),
                     .a = nodes.name(name),
                     .b = nodes.list(arguments),
                     .c = index});
}

std::optional<Word> Symbols::constant_bits(NodeId node) const {
  if (!table_->nodes.is_constant(node)) return std::nullopt;
  return table_->nodes.constant_bits(node);
}

bool Symbols::max_contains(NodeId set, NodeId value) {
  if (set == value) return true;
  const Node& node = table_->nodes[set];
  if (node.kind != NodeKind::set || node.op != Op::max) return false;
  auto found = table_->set_elements.find(set);
  if (found == table_->set_elements.end()) {
    if (table_->set_elements.size() >= kMostRememberedSets) table_->set_elements.clear();
    found = table_->set_elements.emplace(set, table_->sets.elements(set)).first;
  }
  return std::ranges::binary_search(found->second, value);
}

bool Symbols::is_nonpositive(NodeId id) {
  const Node node = table_->nodes[id];
  return node.kind == NodeKind::operation && node.op == Op::sub && node.type == ElementType::f32 &&
         max_contains(node.b, node.a);
}

bool Symbols::payload_may_differ(NodeId stored) { return table_->payload.doubt(stored) != Doubt::none; }

}  // namespace lanefold::machine
