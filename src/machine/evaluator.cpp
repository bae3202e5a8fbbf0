#include "machine/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "machine/arithmetic.h"

namespace lanefold::machine {
namespace {

using lane::Op;
using lane::Statement;

LaneMask lanes_where(const Word* words, std::uint32_t width, bool holds) {
  LaneMask mask = 0;
  for (std::uint32_t i = 0; i < width; ++i) mask |= LaneMask{(words[i] != 0) == holds} << i;
  return mask;
}

/// Whether an integer operation is defined for some right operands only.
bool has_domain(Op op, ElementType type) {
  const bool integer = type == ElementType::i32 || type == ElementType::i64;
  return integer && (op == Op::div || op == Op::rem || op == Op::shift_left || op == Op::shift_right);
}

/// Poison of a result: that of its operands, but a select takes only the side it chose, and a boolean `and` or `or`
/// with a known deciding operand is known.
LaneMask result_poison(const Statement& s, ElementType type, Frame& frame) {
  const auto poison = [&](std::size_t i) { return frame.poison[s.operands[i]]; };
  const auto where = [&](std::size_t i, bool holds) {
    return lanes_where(frame.value(s.operands[i]), frame.lanes, holds);
  };
  if (s.op == Op::select) {
    if ((poison(1) | poison(2)) == 0) return poison(0);
    // Where the choice depends on data, either side may be taken.
    const LaneMask first = where(0, true), open = frame.symbolic[s.operands[0]];
    return poison(0) | ((first | open) & poison(1)) | ((~first | open) & poison(2));
  }
  LaneMask all = 0;
  for (std::size_t i = 0; i < s.operands.size(); ++i) all |= poison(i);
  if (all != 0 && type == ElementType::boolean && (s.op == Op::bit_and || s.op == Op::bit_or)) {
    const bool decides = s.op == Op::bit_or;
    const auto decided = [&](std::size_t i) { return where(i, decides) & ~poison(i) & ~frame.symbolic[s.operands[i]]; };
    all &= ~(decided(0) | decided(1));
  }
  return all;
}

}  // namespace

Evaluator::Evaluator(const lane::Module& module, std::uint32_t width, Symbols* symbols, std::span<const Helper> helpers)
    : module_(module), width_(width), symbols_(symbols), helpers_(helpers) {
  for (const lane::Function& function : module.functions) frames_.emplace_back(function.types.size(), width);
}

NodeId Evaluator::node(ElementType type, Word word, bool symbolic) {
  return symbolic ? static_cast<NodeId>(word) : symbols_->constant(type, word);
}

void Evaluator::put(Frame& frame, lane::ValueId value, std::uint32_t lane, NodeId node) {
  const LaneMask bit = LaneMask{1} << lane;
  const std::optional<Word> known = symbols_->constant_bits(node);
  frame.value(value)[lane] = known.value_or(node);
  frame.symbolic[value] = known ? frame.symbolic[value] & ~bit : frame.symbolic[value] | bit;
}

void Evaluator::express(const Statement& s, const std::vector<ElementType>& types, Frame& frame, LaneMask lanes) {
  const ElementType type = types[s.operands[s.op == Op::select ? 1 : 0]];
  if (has_domain(s.op, type) && (frame.symbolic[s.operands[1]] & lanes) != 0)
    throw Fault{
        Code::machine_depends_on_data,
        fmt::format("{} by %{}, which depends on data, may lie outside of its domain", op_name(s.op), s.operands[1]),
        "divide and shift by numbers that data does not decide"};
  each_lane(lanes, width_, [&](std::uint32_t lane) {
    std::array<NodeId, 3> operands;
    for (std::size_t k = 0; k < s.operands.size(); ++k) {
      const lane::ValueId v = s.operands[k];
      operands[k] = node(types[v], frame.value(v)[lane], (frame.symbolic[v] >> lane & 1) != 0);
    }
    NodeId result = 0;
    if (s.op == Op::convert) {
      result = symbols_->convert(type, types[s.result], operands[0]);
    } else if (s.op == Op::bitcast) {
      result = symbols_->bitcast(type, types[s.result], operands[0]);
    } else {
      result = symbols_->apply(s.op, type, std::span(operands.data(), s.operands.size()));
    }
    put(frame, s.result, lane, result);
  });
}

/// A known condition takes one side as it is, expression or not.
void Evaluator::select(const Statement& s, Frame& frame, LaneMask mask) {
  const Word* condition = frame.value(s.operands[0]);
  Word* out = frame.value(s.result);
  LaneMask symbolic = frame.symbolic[s.result];
  each_lane(mask, width_, [&](std::uint32_t lane) {
    const lane::ValueId from = s.operands[condition[lane] != 0 ? 1 : 2];
    out[lane] = frame.value(from)[lane];
    const LaneMask bit = LaneMask{1} << lane;
    symbolic = (symbolic & ~bit) | (frame.symbolic[from] & bit);
  });
  frame.symbolic[s.result] = symbolic;
}

void Evaluator::arithmetic(const Statement& s, const std::vector<ElementType>& types, Frame& frame, LaneMask mask) {
  LaneMask symbolic = 0;
  for (const lane::ValueId v : s.operands) symbolic |= frame.symbolic[v];
  const ElementType type = types[s.operands[0]];
  const LaneMask poison = result_poison(s, type, frame);
  LaneMask known = mask;
  if ((symbolic & mask) != 0) {
    // Lanes whose choice is known need no expression for it.
    const LaneMask open = s.op == Op::select ? frame.symbolic[s.operands[0]] : symbolic;
    known = mask & ~open;
    if (s.op == Op::select && known != 0) select(s, frame, known);
    express(s, types, frame, mask & open & ~poison);
    frame.symbolic[s.result] &= ~(mask & poison);
  } else {
    frame.symbolic[s.result] &= ~mask;
  }
  if (known != 0 && (s.op != Op::select || (symbolic & mask) == 0)) {
    if ((symbolic & mask) != 0) frame.symbolic[s.result] &= ~known;
    LaneOperands v{.width = width_, .mask = known, .out = frame.value(s.result)};
    v.a = frame.value(s.operands[0]);
    if (s.operands.size() > 1) v.b = frame.value(s.operands[1]);
    if (s.operands.size() > 2) v.c = frame.value(s.operands[2]);
    if (s.op == Op::convert) {
      convert(type, types[s.result], v);
    } else if (s.op == Op::bitcast) {
      each_lane(known, width_, [&](std::uint32_t i) { v.out[i] = v.a[i]; });
    } else if (const LaneMask bad = compute(s.op, type, v) & ~poison; bad != 0) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(bad));
      const std::int64_t by =
          type == ElementType::i32 ? from_word<std::int32_t>(v.b[lane]) : from_word<std::int64_t>(v.b[lane]);
      throw Fault{Code::machine_bad_integer, fmt::format("{} by {} in lane {}", op_name(s.op), by, lane),
                  "divide by a positive number; shift by less than the width"};
    }
  }
  if (symbols_ != nullptr && type == ElementType::f32 && s.op != Op::select && types[s.result] == type)
    mark_nans(s, types, frame, known & ~poison);
  LaneMask& result = frame.poison[s.result];
  result = (result & ~mask) | (poison & mask);
}

/// A NaN that is computed here has the payload that this processor gives it: the symbols must hear of it.
void Evaluator::mark_nans(const Statement& s, const std::vector<ElementType>& types, Frame& frame, LaneMask lanes) {
  const Word* out = frame.value(s.result);
  each_lane(lanes, width_, [&](std::uint32_t lane) {
    if (std::isnan(from_word<float>(out[lane]))) express(s, types, frame, LaneMask{1} << lane);
  });
}

void Evaluator::run(const Statement& s, const std::vector<ElementType>& types, Frame& frame, LaneMask mask) {
  if (s.op == Op::constant) {
    std::fill_n(frame.value(s.result), width_, s.bits);
    frame.poison[s.result] = 0;
    frame.symbolic[s.result] = 0;
    return;
  }
  if (s.op != Op::call) return arithmetic(s, types, frame, mask);
  std::array<LaneVector, 16> few;
  std::vector<LaneVector> many;
  std::span<LaneVector> arguments(few.data(), std::min(few.size(), s.operands.size()));
  if (s.operands.size() > few.size()) {
    many.resize(s.operands.size());
    arguments = many;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const lane::ValueId v = s.operands[i];
    arguments[i] = {frame.value(v), frame.poison[v], frame.symbolic[v]};
  }
  const std::span<const LaneVector> results = call(s.a, arguments, mask);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const lane::ValueId v = s.result + static_cast<lane::ValueId>(i);
    Word* out = frame.value(v);
    each_lane(mask, width_, [&](std::uint32_t l) { out[l] = results[i].words[l]; });
    frame.poison[v] = (frame.poison[v] & ~mask) | (results[i].poison & mask);
    frame.symbolic[v] = (frame.symbolic[v] & ~mask) | (results[i].symbolic & mask);
  }
}

void Evaluator::call_helper(std::uint32_t index, std::span<const LaneVector> arguments, LaneMask lanes, Frame& frame) {
  const lane::Function& function = module_.functions[index];
  const Helper& helper = helpers_[index];
  each_lane(lanes, width_, [&](std::uint32_t lane) {
    std::array<NodeId, 8> nodes;
    if (arguments.size() > nodes.size()) internal_error("machine: a helper of too many arguments");
    for (std::size_t k = 0; k < arguments.size(); ++k)
      nodes[k] = node(function.parameters[k], arguments[k].words[lane], (arguments[k].symbolic >> lane & 1) != 0);
    const std::span<const NodeId> given(nodes.data(), arguments.size());
    if (helper.kind == Helper::Kind::arg_merge) {
      const std::array<NodeId, 2> merged = symbols_->merge_arg(helper.name, given[0], given[1], given[2], given[3]);
      for (std::size_t k = 0; k < 2; ++k) put(frame, function.returns[k], lane, merged[k]);
      return;
    }
    // A step is the merge where the element's index is above those of all that the state holds.
    if (helper.kind == Helper::Kind::arg_step && symbols_->is_later_arg(helper.name, given[0], given[1], given[3])) {
      const std::array<NodeId, 2> merged = symbols_->merge_arg(helper.name, given[0], given[1], given[2], given[3]);
      for (std::size_t k = 0; k < 2; ++k) put(frame, function.returns[k], lane, merged[k]);
      return;
    }
    // exp_nonpositive is exp, bit for bit, where its argument is ≤ 0 or NaN.
    const std::string name = (helper.kind == Helper::Kind::arg_step ? "step_" : "") + helper.name;
    const bool exp = helper.name == "exp_nonpositive" && symbols_->is_nonpositive(given[0]);
    for (std::uint32_t k = 0; k < function.returns.size(); ++k) {
      const lane::ValueId v = function.returns[k];
      put(frame, v, lane, symbols_->call(exp ? "exp" : name, given, k, function.types[v]));
    }
  });
}

std::span<const LaneVector> Evaluator::call(std::uint32_t index, std::span<const LaneVector> arguments, LaneMask mask) {
  const lane::Function& function = module_.functions[index];
  Frame& frame = frames_[index];
  LaneMask symbolic = 0, poison = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::copy_n(arguments[i].words, width_, frame.value(i));
    frame.poison[i] = arguments[i].poison;
    frame.symbolic[i] = arguments[i].symbolic;
    symbolic |= arguments[i].symbolic;
    poison |= arguments[i].poison;
  }
  const bool closed = (symbolic & mask) != 0 && !helpers_.empty() && helpers_[index].kind != Helper::Kind::inlined;
  const LaneMask open = closed ? symbolic & mask & ~poison : 0;
  if ((mask & ~open) != 0)
    for (const Statement& s : function.body) run(s, function.types, frame, mask & ~open);
  if (open != 0) {
    for (const lane::ValueId v : function.returns) frame.poison[v] &= ~open;
    call_helper(index, arguments, open, frame);
  }
  results_.resize(function.returns.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const lane::ValueId v = function.returns[i];
    results_[i] = {frame.value(v), frame.poison[v], frame.symbolic[v]};
  }
  return results_;
}

}  // namespace lanefold::machine
