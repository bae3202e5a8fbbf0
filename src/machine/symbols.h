// Expressions over symbols: what a lane holds when its inputs have names instead of numbers. Equal expressions are one
// node.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lane/module.h"
#include "machine/words.h"

namespace lanefold::machine {

/// An expression; ids compare as expressions do.
using NodeId = std::uint32_t;

/// One byte in memory: byte `index` of what the node stores (little-endian).
struct StoredByte {
  NodeId node = 0;
  std::uint32_t index = 0;
  friend bool operator==(const StoredByte&, const StoredByte&) = default;
};

/// The name of the symbol that stands for a program parameter, whatever a module calls it.
std::string parameter_symbol(std::uint32_t index);

/// Hash-consed expressions. A node is either a register value (boolean, i32, i64, f32) or the stored bytes of an
/// element; a register value is its own stored form in its own type, and a constant is its bytes, whatever type they
/// are used as. Building applies these rules and no others, each of which keeps every byte but a NaN's payload:
///   operations on constants are computed;
///   + and × of f32 commute (in fma too); x + −0 = x; x · 1 = x; fma(a, b, −0) = a · b;
///   max, min (f32), the boolean and, or, and the merges of argmax and argmin are associative and commutative, and have
///   their exact identities: -inf, inf, true, false, and these with the largest index;
///   a select on a constant is the side it chose; bitcasts and narrow/widen of integers' own widths undo each other;
///   bytes of one element, in order, are that element; adjacent bytes of an input are one wider input.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  /// A register constant: the bits as a Word holds them.
  NodeId constant(ElementType type, Word bits);
  /// A scalar argument by name.
  NodeId argument(std::string_view name, ElementType type);
  /// `bytes` bytes at byte `offset` of an input's memory as it was before the run.
  NodeId input(std::string_view buffer, std::int64_t offset, std::uint32_t bytes);
  /// A plain arithmetic operation (not convert, bitcast or call) on register values; `type` is that of operand 0 (for
  /// select, of operand 1).
  NodeId apply(lane::Op op, ElementType type, std::span<const NodeId> operands);
  NodeId convert(ElementType from, ElementType to, NodeId value);
  NodeId bitcast(ElementType from, ElementType to, NodeId value);
  /// Result `index` (of type `type`) of a helper that is not looked into: equal by name and arguments.
  /// payload_may_differ takes it that a NaN argument's payload changes nothing in an f32 result but a NaN's payload.
  NodeId call(std::string_view name, std::span<const NodeId> arguments, std::uint32_t index, ElementType type);

  /// The value and index that the merge of argmax or argmin ("argmax", "argmin") keeps of two, all of them f32 and i32:
  /// NaN first, then the value, then the lower index. Elements have different indices, as columns do, so that it is always
  /// decided which value is kept.
  std::array<NodeId, 2> merge_arg(std::string_view name, NodeId value, NodeId index, NodeId other_value,
                                  NodeId other_index);
  /// Whether the state of an argmax or argmin holds elements, all of known indices below `later`, which is known too.
  bool is_later_arg(std::string_view name, NodeId value, NodeId index, NodeId later);

  /// What a store of the register value to an element of that type leaves in memory; element_bytes(storage) bytes.
  NodeId narrow(ElementType storage, NodeId value);
  /// The register value that a load of stored bytes gives. `stored` has element_bytes(storage) bytes.
  NodeId widen(ElementType storage, NodeId stored);
  /// The element that 1 to 8 consecutive bytes of memory make; of one byte, the node that stands for this byte alone.
  NodeId join(std::span<const StoredByte> bytes);

  /// The bits of a constant: of a register value as a Word holds it, of stored bytes little-endian.
  std::optional<Word> constant_bits(NodeId node) const;
  /// Whether `set` is a max of f32 that has `value` among its elements, or is `value` itself: then value − set is ≤ 0
  /// or NaN.
  bool max_contains(NodeId set, NodeId value);
  /// Whether the node is a difference of f32 that is ≤ 0 or NaN: a value less a max that has it among its elements.
  bool is_nonpositive(NodeId node);
  /// Whether something below the node is a merge of argmax or argmin over elements that are not shown to have different indices: then which
  /// of two equal ones is kept may depend on an order that was taken not to matter.
  bool arg_order_may_matter(NodeId node);
  /// Whether the bytes that a store of this node leaves may depend, in the payload of a NaN, on a rule that was
  /// applied: a swapped, dropped or regrouped operand below it, or a NaN computed from constants, that no
  /// canonical_nan, comparison, conversion or narrowing hides. Once integer operations or single bytes have taken a
  /// payload up, nothing hides it. This is as of the rules applied by now: ask when both expressions are built.
  bool payload_may_differ(NodeId stored);

  /// The expression as text: infix for + - * /, names for the rest, at most `depth` operations deep (deeper ones are
  /// "…") and about 2000 characters long. `x[3]` is input x from byte 3 · n, n being the node's bytes; `x@6:4` are the
  /// 4 bytes from byte 6.
  std::string text(NodeId node, std::uint32_t depth) const;
  /// A pair of places where two different expressions first differ, following equal operations downwards: what to show
  /// a reader. It goes no further where several operands differ and not all are of like kinds, or where two sets differ
  /// in more than one element.
  std::pair<NodeId, NodeId> first_difference(NodeId a, NodeId b) const;
  /// Nodes made so far.
  std::size_t size() const;

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace lanefold::machine
