#include "machine/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "lane/verify.h"

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

bool is_barrier(Op op) { return op == Op::barrier || op == Op::cluster_barrier || op == Op::exchange; }

}  // namespace

Group::Group(Threadgroup& threadgroup, std::uint32_t index)
    : threadgroup_(threadgroup),
      launch_(threadgroup.launch),
      code_(threadgroup.launch.code),
      index_(index),
      width_(launch_.kernel.simd_width),
      frame_(launch_.kernel.types.size(), width_),
      registers_(register_count(launch_.kernel), width_) {
  std::size_t offset = 0;
  for (const lane::RegisterArray& array : launch_.kernel.registers) {
    register_offsets_.push_back(offset);
    register_types_.insert(register_types_.end(), array.size, array.type);
    offset += array.size;
  }
}

void Group::restart() {
  counter_ = 0;
  waiting_ = false;
  epoch_ = 0;
  open_branches_ = 0;
  mask_ = all_lanes(width_);
  branches_.clear();
  loops_.clear();
  for (Frame* frame : {&frame_, &registers_}) {
    std::fill(frame->poison.begin(), frame->poison.end(), ~LaneMask{0});
    std::fill(frame->symbolic.begin(), frame->symbolic.end(), LaneMask{0});
  }
}

void Group::release() {
  waiting_ = false;
  epoch_ += at()->op != Op::exchange;
  ++counter_;
}

void Group::advance(std::uint64_t most) {
  const std::uint64_t limit = launch_.options.most_steps;
  for (; most > 0 && !waiting_; --most) {
    const Instruction& instruction = code_[counter_];
    if (limit != 0 && ++launch_.steps > limit)
      throw Fault{Code::machine_too_long, fmt::format("the run has taken {} steps", limit), "shorten its loops"};
    if (instruction.step == Step::end) return;
    if (instruction.step != Step::statement) {
      control(instruction);
      continue;
    }
    const Statement& s = *instruction.statement;
    launch_.counters.count(counter_, mask_);
    if (is_barrier(s.op)) {
      require_full(s, Code::machine_divergent_barrier);
      require_closed(s);
      if (s.op == Op::exchange) exchange(s);
      waiting_ = true;
    } else {
      statement(s);
    }
    if (launch_.options.trace) trace(s);
    if (!waiting_) ++counter_;
  }
}

void Group::trace(const Statement& s) const {
  TraceStep step{threadgroup_.index, index_, &launch_.kernel, &s, mask_, {}, {}};
  std::vector<LaneVector> values;
  const auto add = [&](lane::ValueId v) {
    values.push_back({frame_.words.data() + std::size_t{v} * width_, frame_.poison[v], frame_.symbolic[v]});
    step.types.push_back(launch_.kernel.types[v]);
  };
  for (std::uint32_t i = 0; i < s.results; ++i) add(s.result + i);
  if (s.results == 0)
    for (const lane::ValueId v : s.operands) add(v);
  step.values = values;
  launch_.options.trace(step);
}

void Group::statement(const Statement& s) {
  switch (s.op) {
    case Op::argument:
    case Op::lane:
    case Op::simd_group:
    case Op::threadgroup:
    case Op::cluster_rank: return leaf(s);
    case Op::get: return get(s);
    case Op::set: return set(s);
    case Op::load: return load(s);
    case Op::store: return store(s);
    case Op::shared_load:
    case Op::peer_load: return shared_load(s);
    case Op::shared_store:
    case Op::peer_store: return shared_store(s);
    case Op::shuffle_xor:
    case Op::shuffle_down:
    case Op::shuffle:
    case Op::permute2: return shuffle(s);
    case Op::fold_lanes: return fold_lanes(s);
    case Op::simd_barrier:
      require_full(s, Code::machine_divergent_simd);
      require_closed(s);
      ++epoch_;
      return;
    default: return launch_.evaluator.run(s, launch_.kernel.types, frame_, mask_);
  }
}

void Group::leaf(const Statement& s) {
  define_known(s.result);
  Word* out = frame_.value(s.result);
  if (s.op == Op::argument) {
    const lane::Argument& argument = launch_.kernel.arguments[s.a];
    const lane::ArgumentWord& word = launch_.arguments[s.a];
    if (launch_.options.symbols != nullptr && argument.type == ElementType::f32) {
      const bool parameter = argument.role == lane::Role::parameter;
      const NodeId node = launch_.options.symbols->argument(
          parameter ? parameter_symbol(argument.index) : argument.name, argument.type);
      each_lane(mask_, width_, [&](std::uint32_t i) { launch_.evaluator.put(frame_, s.result, i, node); });
      return;
    }
    const Word value = argument.type == ElementType::f32 ? to_word(word.real) : to_word(word.integer);
    each_lane(mask_, width_, [&](std::uint32_t i) { out[i] = value; });
    return;
  }
  each_lane(mask_, width_, [&](std::uint32_t i) {
    switch (s.op) {
      case Op::lane: out[i] = i; break;
      case Op::simd_group: out[i] = index_; break;
      case Op::cluster_rank: out[i] = threadgroup_.rank; break;
      default: out[i] = to_word(threadgroup_.index); break;
    }
  });
}

void Group::get(const Statement& s) {
  const std::size_t source = register_offsets_[s.a] + s.b;
  std::copy_n(registers_.value(source), width_, frame_.value(s.result));
  frame_.poison[s.result] = registers_.poison[source];
  frame_.symbolic[s.result] = registers_.symbolic[source];
}

void Group::set(const Statement& s) {
  const std::size_t target = register_offsets_[s.a] + s.b;
  const lane::ValueId from = s.operands[0];
  const Word* in = frame_.value(from);
  Word* out = registers_.value(target);
  each_lane(mask_, width_, [&](std::uint32_t i) { out[i] = in[i]; });
  registers_.poison[target] = (registers_.poison[target] & ~mask_) | (frame_.poison[from] & mask_);
  registers_.symbolic[target] = (registers_.symbolic[target] & ~mask_) | (frame_.symbolic[from] & mask_);
}

void Group::require_full(const Statement& s, Code code) const {
  if (mask_ == all_lanes(width_)) return;
  throw Fault{code, fmt::format("{} with {} of {} lanes", op_name(s.op), std::popcount(mask_), width_),
              "move it to where all lanes come together"};
}

void Group::require_known(const Statement& s, std::size_t operand, const char* what) const {
  const lane::ValueId v = s.operands[operand];
  if (const LaneMask bad = frame_.poison[v] & mask_; bad != 0)
    throw Fault{Code::machine_poison_used,
                fmt::format("the {} %{} of a {} is unwritten in lane {}", what, v, op_name(s.op), first_lane(bad)),
                "write every element and register before it is read"};
  if (const LaneMask open = frame_.symbolic[v] & mask_; open != 0)
    throw Fault{
        Code::machine_depends_on_data,
        fmt::format("the {} %{} of a {} depends on data in lane {}: {}", what, v, op_name(s.op), first_lane(open),
                    launch_.options.symbols->text(
                        static_cast<NodeId>(frame_.words[std::size_t{v} * width_ + first_lane(open)]), 3)),
        "only values may depend on data, not addresses, trip counts or barriers"};
}

void Group::require_closed(const Statement& s) const {
  if (open_branches_ == 0) return;
  throw Fault{Code::machine_depends_on_data,
              fmt::format("{} stands in a branch whose condition depends on data", op_name(s.op)),
              "a branch on data is a select only where its sides set registers and nothing else"};
}

Access Group::access(std::uint32_t lane) const {
  return {.threadgroup = threadgroup_.index,
          .cluster = threadgroup_.cluster,
          .cluster_epoch = threadgroup_.cluster_epoch,
          .epoch = threadgroup_.epoch,
          .group_epoch = epoch_,
          .counter = counter(),
          .group = static_cast<std::uint8_t>(index_),
          .lane = static_cast<std::uint8_t>(lane)};
}

Access Group::shared_access(std::uint32_t lane) const {
  Access a = access(lane);
  a.exchange_epoch = threadgroup_.exchange_epoch;
  return a;
}

void Group::finding(Code code, const std::function<std::pair<std::string, std::string>()>& text) {
  if (!launch_.findings.is_new(code, counter())) return;
  auto [message, hint] = text();
  const std::string place = at() == nullptr ? launch_.kernel.name : lane::statement_place(launch_.kernel, *at());
  launch_.findings.add({code, fmt::format("{} (threadgroup {}, SIMD group {})", message, threadgroup_.index, index_),
                        std::move(hint), place});
}

void Group::race(Code code, const Statement& s, std::uint32_t lane, const Access& earlier, const std::string& address) {
  finding(code, [&] {
    const Statement* other = code_[earlier.counter].statement;
    std::string who = fmt::format("lane {}", earlier.lane);
    if (earlier.group != index_ || earlier.threadgroup != threadgroup_.index)
      who += fmt::format(" of SIMD group {}", earlier.group);
    if (earlier.threadgroup != threadgroup_.index) who += fmt::format(" of threadgroup {}", earlier.threadgroup);
    const bool apart = earlier.threadgroup != threadgroup_.index;
    const bool same_group = !apart && earlier.group == index_;
    return std::pair{fmt::format("{} of {} in lane {} races with the {} at {} in {}", op_name(s.op), address, lane,
                                 op_name(other->op), lane::statement_place(launch_.kernel, *other), who),
                     std::string(same_group && earlier.counter == counter()
                                     ? "let one lane do it, or give each lane an element of its own"
                                 : same_group ? "put a simd_barrier or a barrier between them, or let one lane do both"
                                 : apart && launch_.kernel.cluster > 1 ? "put a cluster_barrier between them"
                                 : apart ? "threadgroups have no order: give each its own elements, or use two kernels"
                                         : "put a barrier between them")};
  });
}

}  // namespace lanefold::machine
