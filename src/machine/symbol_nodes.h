// Where symbolic expressions are kept: every distinct node once, found again by its contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lane/module.h"
#include "machine/symbols.h"

namespace lanefold::machine {

inline constexpr NodeId kNoNode = 0xffffffffu;

enum class NodeKind : std::uint8_t {
  constant,   ///< a and b are the low and the high half of its bits
  argument,   ///< a is its name
  input,      ///< a is the buffer's name, b and c the low and the high half of the byte offset
  operation,  ///< `op` of a, b, c; kNoNode where it has fewer operands
  set,        ///< max or min of f32, or boolean and or or, of the elements of a and b; c is its place in SymbolSets
  call,       ///< a is the helper's name, b the list of arguments, c the result index
  narrow,     ///< what storing a as `type` leaves
  widen,      ///< what loading a as `type` gives
  join,       ///< a is a list: the nodes, then an index into each of them
};

/// One expression. Two nodes are the same where all members are; operands have smaller ids than the node itself.
struct Node {
  NodeKind kind = NodeKind::constant;
  lane::Op op = lane::Op::constant;         ///< operation and set; else Op::constant
  ElementType type = ElementType::boolean;  ///< operation: as in Symbols::apply, or what convert and bitcast make
  std::uint8_t size = 0;                    ///< bytes that a store of it leaves
  std::uint32_t a = kNoNode;
  std::uint32_t b = kNoNode;
  std::uint32_t c = kNoNode;
  friend bool operator==(const Node&, const Node&) = default;
};
static_assert(sizeof(Node) == 16);

/// What is remembered of a node besides its contents.
enum NodeMark : std::uint8_t {
  kInOrder = 1,     ///< built with its operands in the order in which they are kept
  kSwapped = 2,     ///< built with its operands the other way round
  kRuleMarked = 4,  ///< stands for an expression that may have another NaN payload
  kReal = 8,        ///< a constant that was first seen as f32
};

/// Numbers found by a hash of what they stand for (open addressing).
class HashedIds {
 public:
  HashedIds() : slots_(1024) {}

  /// The id for which equal(id) holds among those with this hash; where there is none, make() gives the id to add.
  template <class Equal, class Make>
  std::uint32_t find_or_add(std::uint64_t hash, Equal equal, Make make) {
    const auto key = static_cast<std::uint32_t>(hash);
    std::size_t at = key & (slots_.size() - 1);
    for (; slots_[at].id != kNoNode; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key && equal(slots_[at].id)) return slots_[at].id;
    }
    const std::uint32_t id = make();
    slots_[at] = {key, id};
    if (++used_ * 3 > slots_.size() * 2) grow();
    return id;
  }

 private:
  struct Slot {
    std::uint32_t key = 0;
    std::uint32_t id = kNoNode;
  };
  void grow();

  std::vector<Slot> slots_;  // a power of two of them
  std::size_t used_ = 0;
};

class SymbolNodes {
 public:
  /// The node with these contents; one that is new gets the marks.
  NodeId make(const Node& node, std::uint8_t marks = 0);
  /// Adds a node that cannot be there yet and that make() need not find.
  NodeId add(const Node& node);

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }

  std::uint8_t marks(NodeId id) const { return marks_[id]; }
  /// Remembers that a rule which may change a NaN's payload ended at this node.
  void mark_rule(NodeId id);
  /// Remembers the order in which a commuting node was built; both orders together are such a rule.
  void mark_order(NodeId id, bool swapped);
  /// The lowest node that mark_rule has changed since this was last asked, or kNoNode.
  NodeId take_lowest_marked();

  /// Numbers for names and for lists of numbers; equal ones have equal numbers.
  std::uint32_t name(std::string_view text);
  std::string_view name_text(std::uint32_t name) const { return names_[name]; }
  std::uint32_t list(std::span<const std::uint32_t> values);
  std::span<const std::uint32_t> list_values(std::uint32_t list) const;

  /// The nodes directly below; of a join the node of each byte. Valid until the next node or list is made.
  std::span<const NodeId> operands(NodeId id) const;
  /// Of a join, the index of each byte into its node.
  std::span<const std::uint32_t> join_indices(NodeId id) const;

  /// A constant of 1 to 8 bytes; `real` says that it is first seen as f32.
  NodeId constant(std::uint64_t bits, std::size_t size, bool real);
  bool is_constant(NodeId id) const { return nodes_[id].kind == NodeKind::constant; }
  std::uint64_t constant_bits(NodeId id) const { return std::uint64_t{nodes_[id].b} << 32 | nodes_[id].a; }
  std::int64_t input_offset(NodeId id) const;
  /// Whether the node is a boolean register value, whose one byte is 0 or 1.
  bool is_boolean(NodeId id) const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::uint8_t> marks_;
  HashedIds by_contents_;
  NodeId lowest_marked_ = kNoNode;

  std::deque<std::string> names_;  // a deque, for the views in name_numbers_ stay valid
  std::unordered_map<std::string_view, std::uint32_t> name_numbers_;
  std::vector<std::uint32_t> list_data_;
  std::vector<std::size_t> list_begins_{0};
  HashedIds lists_by_contents_;
};

/// Whether the operation compares two values and gives a boolean.
bool is_comparison(lane::Op op);

}  // namespace lanefold::machine
