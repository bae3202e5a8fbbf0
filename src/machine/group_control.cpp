// Branches and loops of a SIMD group.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "machine/group.h"

namespace lanefold::machine {

using lane::Statement;

void Group::control(const Instruction& instruction) {
  const Statement& s = *instruction.statement;
  switch (instruction.step) {
    case Step::branch:
      if (launch_.options.trace) trace(s);
      return begin_branch(instruction);
    case Step::otherwise:
      otherwise();
      counter_ = mask_ == 0 ? instruction.target : counter_ + 1;
      return;
    case Step::join:
      join(s);
      ++counter_;
      return;
    case Step::loop: return begin_loop(instruction);
    case Step::repeat: {
      Loop& loop = loops_.back();
      // Counting is done only while another iteration follows, so that it cannot overflow.
      if (static_cast<std::uint64_t>(loop.end) - static_cast<std::uint64_t>(loop.counter) <=
          static_cast<std::uint64_t>(loop.step)) {
        loops_.pop_back();
        ++counter_;
        return;
      }
      loop.counter += loop.step;
      enter_iteration(s);
      counter_ = instruction.target;
      return;
    }
    default: internal_error("machine: a step that is no control");
  }
}

void Group::begin_branch(const Instruction& instruction) {
  const lane::ValueId v = instruction.statement->operands[0];
  const LaneMask open = frame_.symbolic[v] & mask_ & ~frame_.poison[v];
  if (open == 0 || (frame_.poison[v] & mask_) != 0) require_known(*instruction.statement, 0, "condition");
  const Word* condition = frame_.value(v);
  LaneMask holds = 0;
  each_lane(mask_ & ~open, width_, [&](std::uint32_t i) { holds |= LaneMask{condition[i] != 0} << i; });
  Branch& branch = branches_.emplace_back();
  branch.before = mask_;
  branch.otherwise = mask_ & ~holds;
  branch.open = open;
  if (open != 0) {
    ++open_branches_;
    branch.registers_before = registers_;
  }
  mask_ = holds | open;
  counter_ = mask_ == 0 ? instruction.target : counter_ + 1;
}

void Group::otherwise() {
  Branch& branch = branches_.back();
  mask_ = branch.otherwise;
  if (branch.open == 0) return;
  branch.registers_then = registers_;
  for (std::size_t r = 0; r < registers_.poison.size(); ++r) {
    const Word* before = branch.registers_before->value(r);
    each_lane(branch.open, width_, [&](std::uint32_t i) { registers_.value(r)[i] = before[i]; });
    const auto restore = [&](std::vector<LaneMask> Frame::* field) {
      LaneMask& now = (registers_.*field)[r];
      now = (now & ~branch.open) | ((*branch.registers_before.*field)[r] & branch.open);
    };
    restore(&Frame::poison);
    restore(&Frame::symbolic);
  }
}

void Group::join(const Statement& s) {
  Branch branch = std::move(branches_.back());
  branches_.pop_back();
  mask_ = branch.before;
  if (branch.open == 0) return;
  --open_branches_;
  Frame& then = *branch.registers_then;
  const Word* condition = frame_.value(s.operands[0]);
  for (std::size_t r = 0; r < registers_.poison.size(); ++r) {
    each_lane(branch.open, width_, [&](std::uint32_t i) {
      const LaneMask lane = LaneMask{1} << i;
      const bool poison_then = (then.poison[r] & lane) != 0, poison_now = (registers_.poison[r] & lane) != 0;
      if (poison_then && poison_now) return;
      // Which side is taken is not known, so what one of them leaves unwritten is.
      registers_.poison[r] |= poison_then ? lane : 0;
      if (poison_then || poison_now) return;
      const bool symbolic_then = (then.symbolic[r] & lane) != 0, symbolic_now = (registers_.symbolic[r] & lane) != 0;
      if (symbolic_then == symbolic_now && then.value(r)[i] == registers_.value(r)[i]) return;
      const ElementType type = register_types_[r];
      const std::array<NodeId, 3> operands = {static_cast<NodeId>(condition[i]),
                                              launch_.evaluator.node(type, then.value(r)[i], symbolic_then),
                                              launch_.evaluator.node(type, registers_.value(r)[i], symbolic_now)};
      launch_.evaluator.put(registers_, static_cast<lane::ValueId>(r), i,
                            launch_.options.symbols->apply(lane::Op::select, type, operands));
    });
  }
}

bool Group::same_iterations(const Group& other) const {
  return std::equal(loops_.begin(), loops_.end(), other.loops_.begin(), other.loops_.end(),
                    [](const Loop& a, const Loop& b) { return a.counter == b.counter; });
}

void Group::begin_loop(const Instruction& instruction) {
  const Statement& s = *instruction.statement;
  std::int64_t bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    require_known(s, i, "loop bound");
    const Word* words = frame_.value(s.operands[i]);
    const Word first = words[std::countr_zero(mask_)];
    each_lane(mask_, width_, [&](std::uint32_t l) {
      if (words[l] == first) return;
      throw Fault{Code::machine_bad_loop,
                  fmt::format("bound %{} is {} in one lane and {} in lane {}", s.operands[i],
                              from_word<std::int64_t>(first), from_word<std::int64_t>(words[l]), l),
                  "loop to a uniform bound and branch inside"};
    });
    bounds[i] = from_word<std::int64_t>(first);
  }
  if (bounds[2] <= 0)
    throw Fault{Code::machine_bad_loop, fmt::format("the step is {}", bounds[2]), "step by 1 or more"};
  if (bounds[0] >= bounds[1]) {
    counter_ = instruction.target;
    return;
  }
  loops_.push_back({bounds[0], bounds[1], bounds[2]});
  enter_iteration(s);
  ++counter_;
}

void Group::enter_iteration(const Statement& s) {
  std::fill_n(frame_.value(s.result), width_, to_word(loops_.back().counter));
  frame_.poison[s.result] = 0;
  frame_.symbolic[s.result] = 0;
  if (launch_.options.trace) trace(s);
}

}  // namespace lanefold::machine
