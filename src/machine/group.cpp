#include "machine/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lanefold::machine {
namespace {

using lane::Op;
using lane::Statement;

std::size_t register_count(const lane::Kernel& kernel) {
  std::size_t count = 0;
  for (const lane::RegisterArray& array : kernel.registers) count += array.size;
  return count;
}

std::size_t first_lane(LaneMask mask) { return static_cast<std::size_t>(std::countr_zero(mask)); }

}  // namespace

Group::Group(Threadgroup& threadgroup, std::uint32_t index)
    : threadgroup_(threadgroup),
      index_(index),
      width_(threadgroup.kernel.simd_width),
      frame_(threadgroup.kernel.types.size(), width_),
      registers_(register_count(threadgroup.kernel), width_) {
  std::size_t offset = 0;
  for (const lane::RegisterArray& array : threadgroup.kernel.registers) {
    register_offsets_.push_back(offset);
    offset += array.size;
  }
  restart();
}

void Group::restart() {
  counter_ = 0;
  waiting_ = false;
  mask_ = all_lanes(width_);
  branches_.clear();
  loops_.clear();
  for (Frame* frame : {&frame_, &registers_}) {
    std::fill(frame->words.begin(), frame->words.end(), kPoisonWord);
    std::fill(frame->poison.begin(), frame->poison.end(), ~LaneMask{0});
  }
}

void Group::advance() {
  if (waiting_) ++counter_;
  waiting_ = false;
  for (;;) {
    const Instruction& instruction = threadgroup_.code[counter_];
    if (instruction.step == Step::end) return;
    if (instruction.step != Step::statement) {
      control(instruction);
      continue;
    }
    if (instruction.statement->op == Op::barrier) {
      require_full(*instruction.statement, Code::machine_divergent_barrier);
      waiting_ = true;
      return;
    }
    statement(*instruction.statement);
    ++counter_;
  }
}

void Group::control(const Instruction& instruction) {
  const Statement& s = *instruction.statement;
  switch (instruction.step) {
    case Step::branch: {
      require_known(s, 0, "condition");
      const Word* condition = frame_.value(s.operands[0]);
      LaneMask holds = 0;
      each_lane(mask_, width_, [&](std::uint32_t i) { holds |= LaneMask{condition[i] != 0} << i; });
      branches_.push_back({mask_, mask_ & ~holds});
      mask_ = holds;
      counter_ = mask_ == 0 ? instruction.target : counter_ + 1;
      return;
    }
    case Step::otherwise:
      mask_ = branches_.back().otherwise;
      counter_ = mask_ == 0 ? instruction.target : counter_ + 1;
      return;
    case Step::join:
      mask_ = branches_.back().before;
      branches_.pop_back();
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

void Group::begin_loop(const Instruction& instruction) {
  const Statement& s = *instruction.statement;
  std::int64_t bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    require_known(s, i, "loop bound");
    const Word* words = frame_.value(s.operands[i]);
    const Word first = words[first_lane(mask_)];
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
}

void Group::statement(const Statement& s) {
  switch (s.op) {
    case Op::argument:
    case Op::lane:
    case Op::simd_group:
    case Op::threadgroup: return leaf(s);
    case Op::get: return get(s);
    case Op::set: return set(s);
    case Op::load: return load(s);
    case Op::store: return store(s);
    case Op::shared_load: return shared_load(s);
    case Op::shared_store: return shared_store(s);
    case Op::shuffle_xor:
    case Op::shuffle_down:
    case Op::shuffle:
    case Op::permute2: return shuffle(s);
    case Op::fold_lanes: return fold_lanes(s);
    case Op::simd_barrier: return require_full(s, Code::machine_divergent_simd);
    default: return threadgroup_.evaluator.run(s, threadgroup_.kernel.types, frame_, mask_);
  }
}

void Group::leaf(const Statement& s) {
  Word* out = frame_.value(s.result);
  each_lane(mask_, width_, [&](std::uint32_t i) {
    switch (s.op) {
      case Op::lane: out[i] = i; break;
      case Op::simd_group: out[i] = index_; break;
      case Op::threadgroup: out[i] = to_word(threadgroup_.index); break;
      default: {
        const lane::ArgumentWord& word = threadgroup_.arguments[s.a];
        const bool real = threadgroup_.kernel.arguments[s.a].type == ElementType::f32;
        out[i] = real ? to_word(word.real) : to_word(word.integer);
      }
    }
  });
  define_poison(s.result, 0);
}

void Group::get(const Statement& s) {
  const std::size_t source = register_offsets_[s.a] + s.b;
  std::copy_n(registers_.value(source), width_, frame_.value(s.result));
  frame_.poison[s.result] = registers_.poison[source];
}

void Group::set(const Statement& s) {
  const std::size_t target = register_offsets_[s.a] + s.b;
  const Word* in = frame_.value(s.operands[0]);
  Word* out = registers_.value(target);
  each_lane(mask_, width_, [&](std::uint32_t i) { out[i] = in[i]; });
  registers_.poison[target] = (registers_.poison[target] & ~mask_) | (frame_.poison[s.operands[0]] & mask_);
}

void Group::require_full(const Statement& s, Code code) const {
  if (mask_ == all_lanes(width_)) return;
  throw Fault{code, fmt::format("{} with {} of {} lanes", op_name(s.op), std::popcount(mask_), width_),
              "move it to where all lanes come together"};
}

void Group::require_known(const Statement& s, std::size_t operand, const char* what) const {
  const LaneMask bad = frame_.poison[s.operands[operand]] & mask_;
  if (bad == 0) return;
  throw Fault{Code::machine_poison_used,
              fmt::format("the {} %{} of a {} is unwritten in lane {}", what, s.operands[operand], op_name(s.op),
                          first_lane(bad)),
              "write every element and register before it is read"};
}

}  // namespace lanefold::machine
