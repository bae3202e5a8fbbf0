#include "machine/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

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

/// Poison of a result: that of its operands, but a select takes only the side it chose, and a boolean `and` or `or`
/// with a known deciding operand is known.
LaneMask result_poison(const Statement& s, ElementType type, Frame& frame) {
  const auto poison = [&](std::size_t i) { return frame.poison[s.operands[i]]; };
  const auto where = [&](std::size_t i, bool holds) {
    return lanes_where(frame.value(s.operands[i]), frame.lanes, holds);
  };
  if (s.op == Op::select) {
    if ((poison(1) | poison(2)) == 0) return poison(0);
    const LaneMask first = where(0, true);
    return poison(0) | (first & poison(1)) | (~first & poison(2));
  }
  LaneMask all = 0;
  for (std::size_t i = 0; i < s.operands.size(); ++i) all |= poison(i);
  if (all != 0 && type == ElementType::boolean && (s.op == Op::bit_and || s.op == Op::bit_or)) {
    const bool decides = s.op == Op::bit_or;
    all &= ~((where(0, decides) & ~poison(0)) | (where(1, decides) & ~poison(1)));
  }
  return all;
}

}  // namespace

Evaluator::Evaluator(const lane::Module& module, std::uint32_t width) : module_(module), width_(width) {
  for (const lane::Function& function : module.functions) frames_.emplace_back(function.types.size(), width);
}

void Evaluator::arithmetic(const Statement& s, const std::vector<ElementType>& types, Frame& frame, LaneMask mask) {
  LaneOperands v{.width = width_, .mask = mask, .out = frame.value(s.result)};
  if (!s.operands.empty()) v.a = frame.value(s.operands[0]);
  if (s.operands.size() > 1) v.b = frame.value(s.operands[1]);
  if (s.operands.size() > 2) v.c = frame.value(s.operands[2]);
  const ElementType type = types[s.operands[0]];
  const LaneMask poison = result_poison(s, type, frame);
  if (s.op == Op::convert) {
    convert(type, types[s.result], v);
  } else if (s.op == Op::bitcast) {
    each_lane(mask, width_, [&](std::uint32_t i) { v.out[i] = v.a[i]; });
  } else {
    const LaneMask bad = compute(s.op, type, v) & ~poison;
    if (bad != 0) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(bad));
      const std::int64_t by =
          type == ElementType::i32 ? from_word<std::int32_t>(v.b[lane]) : from_word<std::int64_t>(v.b[lane]);
      throw Fault{Code::machine_bad_integer, fmt::format("{} by {} in lane {}", op_name(s.op), by, lane),
                  "divide by a positive number; shift by less than the width"};
    }
  }
  LaneMask& result = frame.poison[s.result];
  result = (result & ~mask) | (poison & mask);
}

void Evaluator::run(const Statement& s, const std::vector<ElementType>& types, Frame& frame, LaneMask mask) {
  if (s.op == Op::constant) {
    std::fill_n(frame.value(s.result), width_, s.bits);
    frame.poison[s.result] = 0;
    return;
  }
  if (s.op != Op::call) return arithmetic(s, types, frame, mask);
  std::vector<LaneVector> arguments(s.operands.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    arguments[i] = {frame.value(s.operands[i]), frame.poison[s.operands[i]]};
  }
  const std::vector<LaneVector> results = call(s.a, arguments, mask);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Word* out = frame.value(s.result + i);
    each_lane(mask, width_, [&](std::uint32_t l) { out[l] = results[i].words[l]; });
    LaneMask& poison = frame.poison[s.result + i];
    poison = (poison & ~mask) | (results[i].poison & mask);
  }
}

std::vector<LaneVector> Evaluator::call(std::uint32_t index, std::span<const LaneVector> arguments, LaneMask mask) {
  const lane::Function& function = module_.functions[index];
  Frame& frame = frames_[index];
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::copy_n(arguments[i].words, width_, frame.value(i));
    frame.poison[i] = arguments[i].poison;
  }
  for (const Statement& s : function.body) run(s, function.types, frame, mask);
  std::vector<LaneVector> results;
  for (const lane::ValueId v : function.returns) results.push_back({frame.value(v), frame.poison[v]});
  return results;
}

}  // namespace lanefold::machine
