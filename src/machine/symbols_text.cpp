// Symbols for a reader: expressions as text.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/symbols.h"
#include "machine/symbols_table.h"

namespace lanefold::machine {
namespace {

using lane::Op;

constexpr std::string_view kMore = "…";
constexpr std::size_t kMostText = 2000;
constexpr std::uint32_t kMostDepth = 200;
constexpr std::size_t kMostElements = 12;

/// What a constant is read as: nothing more is known than its bytes, or the type that the operation above gives it.
using Reading = std::optional<ElementType>;

std::string f32_text(std::uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  char text[40];
  if (std::isnan(value)) {
    const auto end = std::to_chars(text, text + sizeof text, bits, 16).ptr;
    return "nan(0x" + std::string(text, end) + ")";
  }
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string_view infix(Op op) {
  switch (op) {
    case Op::add: return " + ";
    case Op::sub: return " - ";
    case Op::mul: return " * ";
    case Op::div: return " / ";
    default: return {};
  }
}

class Text {
 public:
  explicit Text(const SymbolNodes& nodes) : nodes_(nodes) {}

  void write(NodeId id, std::uint32_t depth, Reading reading) {
    const Node& node = nodes_[id];
    switch (node.kind) {
      case NodeKind::constant: return put(constant_text(id, reading));
      case NodeKind::argument: return put(nodes_.name_text(node.a));
      case NodeKind::input: return put(input_text(id));
      default: break;
    }
    if (depth == 0 || full()) return put(kMore);
    switch (node.kind) {
      case NodeKind::operation: return write_operation(id, depth - 1);
      case NodeKind::set: return write_set(id, depth - 1);
      case NodeKind::call:
        write_list(nodes_.name_text(node.a), nodes_.operands(id), depth - 1, std::nullopt);
        if (node.c != 0) put("." + std::to_string(node.c));
        return;
      case NodeKind::narrow:
        return write_list("store_" + std::string(element_name(node.type)), nodes_.operands(id), depth - 1,
                          std::nullopt);
      case NodeKind::widen:
        return write_list("load_" + std::string(element_name(node.type)), nodes_.operands(id), depth - 1, std::nullopt);
      default: return write_join(id, depth - 1);
    }
  }

  std::string take() {
    if (text_.size() > kMostText) {
      std::size_t end = kMostText;
      while ((static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) --end;  // not inside a UTF-8 sequence
      text_.resize(end);
      text_ += kMore;
    }
    return std::move(text_);
  }

 private:
  bool full() const { return text_.size() > kMostText; }
  void put(std::string_view text) {
    if (!full()) text_ += text;
  }

  std::string constant_text(NodeId id, Reading reading) const {
    const Node& node = nodes_[id];
    const std::uint64_t bits = nodes_.constant_bits(id);
    if (!reading && (nodes_.marks(id) & kReal) != 0) reading = ElementType::f32;
    if (node.size == 4 && reading == ElementType::f32) return f32_text(node.a);
    if (node.size == 4) return std::to_string(static_cast<std::int32_t>(node.a));
    if (node.size == 8) return std::to_string(static_cast<std::int64_t>(bits));
    if (node.size == 1 && bits <= 1) return std::to_string(bits);
    char text[20];
    return "0x" + std::string(text, std::to_chars(text, text + sizeof text, bits, 16).ptr);
  }

  /// The element's index where it lies at a multiple of its size, else "@" and the byte offset.
  std::string input_text(NodeId id) const {
    const Node& node = nodes_[id];
    const std::int64_t offset = nodes_.input_offset(id);
    const std::string buffer(nodes_.name_text(node.a));
    if (offset % node.size == 0) return buffer + "[" + std::to_string(offset / node.size) + "]";
    return buffer + "@" + std::to_string(offset) + ":" + std::to_string(node.size);
  }

  void write_operation(NodeId id, std::uint32_t depth) {
    const Node& node = nodes_[id];
    const std::span<const NodeId> operands = nodes_.operands(id);
    if (const std::string_view sign = infix(node.op); !sign.empty()) {
      put("(");
      write(operands[0], depth, node.type);
      put(sign);
      write(operands[1], depth, node.type);
      return put(")");
    }
    if (node.op == Op::convert || node.op == Op::bitcast) {
      const std::string name(element_name(node.type));
      return write_list(node.op == Op::convert ? name : "bits_as_" + name, operands, depth,
                        static_cast<ElementType>(node.c));
    }
    write_list(lane::op_name(node.op), operands, depth, node.type);
  }

  void write_list(std::string_view name, std::span<const NodeId> operands, std::uint32_t depth, Reading reading) {
    put(name);
    put("(");
    for (std::size_t i = 0; i < operands.size() && !full(); ++i) {
      if (i > 0) put(", ");
      write(operands[i], depth, reading);
    }
    put(")");
  }

  /// The elements of the tree that was built first; a fold one by one comes out in its order.
  void write_set(NodeId id, std::uint32_t depth) {
    const Node& set = nodes_[id];
    const auto is_part = [&](NodeId part) { return nodes_[part].kind == NodeKind::set && nodes_[part].op == set.op; };
    // The sets behind argmax and argmin have no operation of their own, and their names stand before them.
    put(set.type == ElementType::i64 ? std::string_view("of") : lane::op_name(set.op));
    put("(");
    std::vector<NodeId> open{id};
    for (std::size_t written = 0; !open.empty() && !full();) {
      const NodeId next = open.back();
      open.pop_back();
      if (is_part(next)) {
        // Operands are kept by id, so an element stands before the older set that it was added to.
        const Node& part = nodes_[next];
        const bool added = !is_part(part.a) && is_part(part.b);
        open.push_back(added ? part.a : part.b);
        open.push_back(added ? part.b : part.a);
        continue;
      }
      if (written > 0) put(", ");
      if (written++ == kMostElements) {
        put(kMore);
        break;
      }
      write(next, depth, set.type);
    }
    put(")");
  }

  void write_join(NodeId id, std::uint32_t depth) {
    const std::span<const NodeId> parts = nodes_.operands(id);
    const std::span<const std::uint32_t> indices = nodes_.join_indices(id);
    put("bytes(");
    for (std::size_t i = 0; i < parts.size() && !full(); ++i) {
      if (i > 0) put(", ");
      write(parts[i], depth, std::nullopt);
      if (nodes_[parts[i]].size > 1) put("." + std::to_string(indices[i]));
    }
    put(")");
  }

  const SymbolNodes& nodes_;
  std::string text_;
};

}  // namespace

std::string Symbols::text(NodeId node, std::uint32_t depth) const {
  Text text(table_->nodes);
  text.write(node, std::min(depth, kMostDepth), std::nullopt);
  return text.take();
}

}  // namespace lanefold::machine
