// One SIMD group: its program counter, its mask stack and its registers.
#pragma once

#include <span>
#include <vector>

#include "machine/code.h"
#include "machine/evaluator.h"
#include "machine/memory.h"

namespace lanefold::machine {

/// What the SIMD groups of a threadgroup have in common.
struct Threadgroup {
  const lane::Kernel& kernel;
  const std::vector<Instruction>& code;
  std::span<const lane::ArgumentWord> arguments;
  SharedMemory& shared;
  Evaluator& evaluator;
  std::int64_t index = 0;
};

class Group {
 public:
  Group(Threadgroup& threadgroup, std::uint32_t index);

  /// Back to the first instruction with every register poisoned.
  void restart();
  /// Runs on to the next barrier or the end. Throws Fault.
  void advance();
  bool ended() const { return threadgroup_.code[counter_].step == Step::end; }
  /// The barrier it waits at, or the statement it stands at; null at the end.
  const lane::Statement* at() const { return threadgroup_.code[counter_].statement; }
  std::uint32_t index() const { return index_; }

 private:
  struct Branch {
    LaneMask before;     ///< the lanes that came to the branch
    LaneMask otherwise;  ///< those of them whose condition did not hold
  };
  struct Loop {
    std::int64_t counter, end, step;
  };

  void control(const Instruction& instruction);
  void begin_loop(const Instruction& instruction);
  void enter_iteration(const lane::Statement& s);
  void statement(const lane::Statement& s);
  void leaf(const lane::Statement& s);
  void get(const lane::Statement& s);
  void set(const lane::Statement& s);
  void load(const lane::Statement& s);
  void store(const lane::Statement& s);
  void shared_load(const lane::Statement& s);
  void shared_store(const lane::Statement& s);
  void shuffle(const lane::Statement& s);
  void fold_lanes(const lane::Statement& s);

  void require_full(const lane::Statement& s, Code code) const;
  /// Throws where an active lane's operand is poison.
  void require_known(const lane::Statement& s, std::size_t operand, const char* what) const;
  void require_aligned(const lane::Statement& s, std::int64_t address) const;
  std::int32_t shared_index(const lane::Statement& s, std::uint32_t lane);
  std::byte* element(const lane::Statement& s, std::int64_t address) const;
  void define_poison(lane::ValueId v, LaneMask poison) {
    frame_.poison[v] = (frame_.poison[v] & ~mask_) | (poison & mask_);
  }

  Threadgroup& threadgroup_;
  std::uint32_t index_;
  std::uint32_t width_;
  std::size_t counter_ = 0;
  bool waiting_ = false;  ///< at the barrier that counter_ names
  LaneMask mask_ = 0;
  std::vector<Branch> branches_;
  std::vector<Loop> loops_;
  Frame frame_;
  Frame registers_;  ///< all register arrays, one after another
  std::vector<std::size_t> register_offsets_;
};

}  // namespace lanefold::machine
