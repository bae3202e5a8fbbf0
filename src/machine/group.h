// One SIMD group: its program counter, its mask stack and its registers.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "machine/code.h"
#include "machine/counts.h"
#include "machine/evaluator.h"
#include "machine/findings.h"
#include "machine/global_memory.h"
#include "machine/machine.h"
#include "machine/shared_memory.h"

namespace lanefold::machine {

/// What all threadgroups of a launch have in common.
struct Launch {
  const lane::Module& module;
  const lane::Kernel& kernel;
  const std::vector<Instruction>& code;
  std::span<const lane::ArgumentWord> arguments;
  std::vector<Region*> regions;  ///< of each argument; null for scalars
  Evaluator& evaluator;
  Findings& findings;
  Counters& counters;
  const Options& options;
  std::uint64_t steps = 0;  ///< executed so far, where options limit them
};

struct Threadgroup {
  Threadgroup(Launch& l, std::uint32_t r) : launch(l), rank(r), shared(l.kernel) {}

  Launch& launch;
  std::uint32_t rank;  ///< in its cluster
  SharedMemory shared;
  std::int64_t index = 0;
  std::int64_t cluster = 0;
  std::uint32_t epoch = 0, cluster_epoch = 0, exchange_epoch = 0;
  std::optional<Access> peer_access = {};  ///< the last time that another threadgroup used its arrays
  std::vector<Threadgroup*> peers = {};    ///< all of its cluster, by rank
};

class Group {
 public:
  Group(Threadgroup& threadgroup, std::uint32_t index);

  /// Back to the first instruction with every register poisoned.
  void restart();
  /// Runs up to `most` instructions, and no further than the next barrier or the end. Throws Fault.
  void advance(std::uint64_t most);
  bool ended() const { return code_[counter_].step == Step::end; }
  bool waiting() const { return waiting_; }
  /// Passes the barrier or exchange that it waits at.
  void release();
  /// The barrier it waits at, or the statement it stands at; null at the end.
  const lane::Statement* at() const { return code_[counter_].statement; }
  std::uint32_t counter() const { return static_cast<std::uint32_t>(counter_); }
  /// Whether it is in the same iterations of the same loops as another group at the same statement.
  bool same_iterations(const Group& other) const;
  std::uint32_t index() const { return index_; }
  Threadgroup& threadgroup() const { return threadgroup_; }

 private:
  struct Branch {
    LaneMask before = 0;     ///< the lanes that came to the branch
    LaneMask otherwise = 0;  ///< those of them whose condition did not hold
    LaneMask open = 0;       ///< those whose condition is an expression: they take both sides
    std::optional<Frame> registers_before = {}, registers_then = {};
  };
  struct Loop {
    std::int64_t counter, end, step;
  };

  void control(const Instruction& instruction);
  void begin_branch(const Instruction& instruction);
  void otherwise();
  /// Registers become a choice between what the two sides of an open branch left in them.
  void join(const lane::Statement& s);
  void begin_loop(const Instruction& instruction);
  void enter_iteration(const lane::Statement& s);
  void statement(const lane::Statement& s);
  void trace(const lane::Statement& s) const;
  void leaf(const lane::Statement& s);
  void get(const lane::Statement& s);
  void set(const lane::Statement& s);
  void load(const lane::Statement& s);
  void store(const lane::Statement& s);
  void load_element(const lane::Statement& s, std::uint32_t i, std::uint32_t lane, std::int64_t address);
  void store_element(const lane::Statement& s, std::uint32_t i, std::uint32_t lane, std::int64_t address);
  void shared_load(const lane::Statement& s);
  void shared_store(const lane::Statement& s);
  void exchange(const lane::Statement& s);
  /// Puts what the lane has as `value` into an element of threadgroup memory, as an element of the type.
  void keep(SharedElement& element, ElementType type, lane::ValueId value, std::uint32_t lane);
  void shuffle(const lane::Statement& s);
  void fold_lanes(const lane::Statement& s);

  /// Throws unless every lane is active.
  void require_full(const lane::Statement& s, Code code) const;
  std::uint32_t source_lane(const lane::Statement& s, std::uint32_t lane) const;
  void require_active_sources(const lane::Statement& s) const;
  /// Throws where an active lane's operand is poison, or an expression.
  void require_known(const lane::Statement& s, std::size_t operand, const char* what) const;
  /// Throws in an open branch, where a statement with effects would depend on data.
  void require_closed(const lane::Statement& s) const;
  bool aligned(const lane::Statement& s, std::uint32_t lane, std::int64_t address);
  /// The array that a statement names, in this threadgroup or in a peer; null where a finding says that it cannot be had.
  SharedElement* shared_element(const lane::Statement& s, std::uint32_t lane, bool peer);
  Access access(std::uint32_t lane) const;
  /// The same, of threadgroup memory, which exchanges order too.
  Access shared_access(std::uint32_t lane) const;
  void shared_race(const lane::Statement& s, std::uint32_t lane, bool peer, const Access& earlier);
  void race(Code code, const lane::Statement& s, std::uint32_t lane, const Access& earlier, const std::string& address);
  void finding(Code code, const std::function<std::pair<std::string, std::string>()>& text);
  void define_poison(lane::ValueId v, LaneMask poison) {
    frame_.poison[v] = (frame_.poison[v] & ~mask_) | (poison & mask_);
  }
  void define_known(lane::ValueId v) {
    define_poison(v, 0);
    frame_.symbolic[v] &= ~mask_;
  }

  Threadgroup& threadgroup_;
  Launch& launch_;
  const std::vector<Instruction>& code_;
  std::uint32_t index_;
  std::uint32_t width_;
  std::size_t counter_ = 0;
  bool waiting_ = false;  ///< at the barrier that counter_ names
  std::uint32_t epoch_ = 0;
  std::uint32_t open_branches_ = 0;
  LaneMask mask_ = 0;
  std::vector<Branch> branches_;
  std::vector<Loop> loops_;
  Frame frame_;
  Frame registers_;  ///< all register arrays, one after another
  std::vector<std::size_t> register_offsets_;
  std::vector<ElementType> register_types_;
};

}  // namespace lanefold::machine
