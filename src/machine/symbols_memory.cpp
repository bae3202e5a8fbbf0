// Symbols in memory: elements stored, loaded, and put together from bytes.
#include <algorithm>
#include <array>
#include <string>

#include "machine/memory.h"
#include "machine/symbols.h"
#include "machine/symbols_table.h"

namespace lanefold::machine {
namespace {

constexpr std::size_t kMostBytes = 8;

/// Whether register values of the type are stored as they are.
bool stored_as_is(ElementType storage) { return register_type(storage) == storage; }

void check_size(const SymbolNodes& nodes, NodeId id, std::size_t bytes, std::string_view what) {
  if (id >= nodes.size() || nodes[id].size != bytes) {
    internal_error("symbols: " + std::string(what) + " what has not " + std::to_string(bytes) + " bytes");
  }
}

NodeId input_bytes(SymbolNodes& nodes, std::uint32_t buffer, std::int64_t offset, std::size_t bytes) {
  const auto bits = static_cast<std::uint64_t>(offset);
  return nodes.make({.kind = NodeKind::input,
                     .size = static_cast<std::uint8_t>(bytes),
                     .a = buffer,
                     .b = static_cast<std::uint32_t>(bits),
                     .c = static_cast<std::uint32_t>(bits >> 32)});
}

/// The byte as that of the smallest node that has it: one-byte constants and inputs, and what a join is made of.
StoredByte smallest(SymbolNodes& nodes, StoredByte byte) {
  if (nodes[byte.node].kind == NodeKind::join) {
    byte = {nodes.operands(byte.node)[byte.index], nodes.join_indices(byte.node)[byte.index]};
  }
  const Node node = nodes[byte.node];
  if (node.size == 1) return byte;
  if (node.kind == NodeKind::constant && (nodes.marks(byte.node) & kRuleMarked) == 0) {
    return {nodes.constant(nodes.constant_bits(byte.node) >> (8 * byte.index) & 0xff, 1, false), 0};
  }
  // An input may stand for its sum with −0, say, which quietens a NaN: then its bytes are not known to be the input's.
  if (node.kind == NodeKind::input && (nodes.marks(byte.node) & kRuleMarked) == 0) {
    return {input_bytes(nodes, node.a, nodes.input_offset(byte.node) + byte.index, 1), 0};
  }
  return byte;
}

/// Whether the bytes are all of one node's, in order.
bool is_whole(const SymbolNodes& nodes, std::span<const StoredByte> bytes) {
  if (nodes[bytes[0].node].size != bytes.size()) return false;
  for (std::uint32_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != StoredByte{bytes[0].node, i}) return false;
  }
  return true;
}

/// Whether the bytes, each the smallest, are consecutive ones of an input.
bool is_input_run(const SymbolNodes& nodes, std::span<const StoredByte> bytes) {
  const Node& first = nodes[bytes[0].node];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const Node& node = nodes[bytes[i].node];
    if (node.kind != NodeKind::input || node.size != 1 || node.a != first.a) return false;
    if (nodes.input_offset(bytes[i].node) != nodes.input_offset(bytes[0].node) + static_cast<std::int64_t>(i))
      return false;
  }
  return true;
}

}  // namespace

NodeId Symbols::input(std::string_view buffer, std::int64_t offset, std::uint32_t bytes) {
  if (bytes == 0 || bytes > kMostBytes) internal_error("symbols: an input of no bytes or more than 8");
  return input_bytes(table_->nodes, table_->nodes.name(buffer), offset, bytes);
}

NodeId Symbols::narrow(ElementType storage, NodeId value) {
  SymbolNodes& nodes = table_->nodes;
  check_size(nodes, value, element_bytes(register_type(storage)), "a store of");
  if (storage == ElementType::f64) internal_error("symbols: a store of f64");
  if (storage == ElementType::boolean && !nodes.is_boolean(value)) internal_error("symbols: a store of no boolean");
  if (stored_as_is(storage)) return value;
  const std::size_t bytes = element_bytes(storage);
  if (nodes.is_constant(value)) {
    std::array<std::byte, kMostBytes> memory{};
    store_word(memory.data(), storage, nodes.constant_bits(value));
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < bytes; ++i) bits |= std::to_integer<std::uint64_t>(memory[i]) << (8 * i);
    return nodes.constant(bits, bytes, false);
  }
  // A byte that was loaded as an integer is stored as the byte that it was.
  const Node loaded = nodes[value];
  if (storage == ElementType::i8 && loaded.kind == NodeKind::widen && loaded.type == storage) return loaded.a;
  return nodes.make({.kind = NodeKind::narrow, .type = storage, .size = static_cast<std::uint8_t>(bytes), .a = value});
}

NodeId Symbols::widen(ElementType storage, NodeId stored) {
  SymbolNodes& nodes = table_->nodes;
  check_size(nodes, stored, element_bytes(storage), "a load of");
  if (storage == ElementType::f64) internal_error("symbols: a load of f64");
  // Any byte can be loaded as a boolean, but only that of a boolean is the boolean.
  if (stored_as_is(storage) && (storage != ElementType::boolean || nodes.is_boolean(stored))) return stored;
  const ElementType loaded = register_type(storage);
  if (nodes.is_constant(stored)) {
    std::array<std::byte, kMostBytes> memory{};
    const std::uint64_t bits = nodes.constant_bits(stored);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(bits >> (8 * i));
    return constant(loaded, load_word(memory.data(), storage));
  }
  return nodes.make({.kind = NodeKind::widen,
                     .type = storage,
                     .size = static_cast<std::uint8_t>(element_bytes(loaded)),
                     .a = stored});
}

NodeId Symbols::join(std::span<const StoredByte> bytes) {
  SymbolNodes& nodes = table_->nodes;
  if (bytes.empty() || bytes.size() > kMostBytes) internal_error("symbols: a join of no bytes or more than 8");
  for (const StoredByte& byte : bytes) {
    if (byte.node >= nodes.size() || byte.index >= nodes[byte.node].size) internal_error("symbols: a join of no byte");
  }
  if (is_whole(nodes, bytes)) return bytes[0].node;
  std::array<StoredByte, kMostBytes> all;
  std::ranges::transform(bytes, all.begin(), [&](StoredByte byte) { return smallest(nodes, byte); });
  const std::span<const StoredByte> parts(all.data(), bytes.size());
  if (is_whole(nodes, parts)) return parts[0].node;
  if (is_input_run(nodes, parts)) {
    return input_bytes(nodes, nodes[parts[0].node].a, nodes.input_offset(parts[0].node), parts.size());
  }
  if (std::ranges::all_of(parts, [&](StoredByte byte) { return nodes.is_constant(byte.node); })) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) bits |= nodes.constant_bits(parts[i].node) << (8 * i);
    return nodes.constant(bits, parts.size(), false);
  }
  std::array<std::uint32_t, 2 * kMostBytes> list;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    list[i] = parts[i].node;
    list[parts.size() + i] = parts[i].index;
  }
  return nodes.make({.kind = NodeKind::join,
                     .size = static_cast<std::uint8_t>(parts.size()),
                     .a = nodes.list({list.data(), 2 * parts.size()})});
}

}  // namespace lanefold::machine
