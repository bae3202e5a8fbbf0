// Where the values of a body are used, and what its statements read and change.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lane/module.h"

namespace lanefold::emit {

/// What a statement, with all that is inside of it, changes; or what an expression reads.
struct Memory {
  bool buffers = false;
  bool shared = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> elements = {};  ///< of register arrays

  bool empty() const { return !buffers && !shared && elements.empty(); }
  void add(const Memory& other);
  bool meets(const Memory& other) const;
};

/// What the statement changes; a barrier changes all memory that lanes share.
Memory changed_by(const lane::Statement& s);
/// What the statement itself reads, besides its operands.
Memory read_by(const lane::Statement& s);

/// Uses of values by statements that are not dead.
class Usage {
 public:
  Usage(const std::vector<lane::Statement>& body, std::size_t values, const std::vector<lane::ValueId>& returned);
  std::uint32_t count(lane::ValueId v) const { return uses_[v].count; }
  /// Used in the block that defines it only, and not inside of its loops and branches.
  bool is_nearby(lane::ValueId v) const { return !uses_[v].elsewhere; }
  /// Computes something that nobody wants, and does nothing else.
  bool is_dead(const lane::Statement& s) const;

 private:
  struct Use {
    std::uint32_t count = 0, used_in = 0;
    bool elsewhere = false;
  };
  void visit(const std::vector<lane::Statement>& block, std::uint32_t number);
  std::vector<Use> uses_;
  std::uint32_t blocks_ = 0;
};

}  // namespace lanefold::emit
