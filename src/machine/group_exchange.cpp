// Shuffles and folds between the lanes of a SIMD group.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "machine/group.h"

namespace lanefold::machine {
namespace {

using lane::Op;
using lane::Statement;

/// A lane vector that owns its words.
struct OwnVector {
  std::array<Word, 64> words{};
  LaneMask poison = 0;
  LaneMask symbolic = 0;
};

/// A lane vector whose lane i is lane from(i) of the vector that source(i) names.
template <class Source, class From>
OwnVector gather(std::uint32_t width, Source source, From from) {
  OwnVector out;
  for (std::uint32_t lane = 0; lane < width; ++lane) {
    const OwnVector& in = source(lane);
    out.words[lane] = in.words[from(lane)];
    out.poison |= (in.poison >> from(lane) & 1) << lane;
    out.symbolic |= (in.symbolic >> from(lane) & 1) << lane;
  }
  return out;
}

}  // namespace

std::uint32_t Group::source_lane(const Statement& s, std::uint32_t lane) const {
  switch (s.op) {
    case Op::shuffle_xor: return lane ^ s.b;
    case Op::shuffle_down: return lane + s.b < width_ ? lane + s.b : lane;
    case Op::shuffle:
      return static_cast<std::uint32_t>(frame_.words[std::size_t{s.operands[1]} * width_ + lane]) & (width_ - 1);
    case Op::permute2: return s.table[lane];
    default: internal_error("machine: a statement that is no shuffle");
  }
}

void Group::require_active_sources(const Statement& s) const {
  each_lane(mask_, width_, [&](std::uint32_t lane) {
    const std::uint32_t from = source_lane(s, lane) % width_;
    if ((mask_ >> from & 1) != 0) return;
    throw Fault{Code::machine_inactive_lane,
                fmt::format("{}: lane {} reads lane {}, which is not active", op_name(s.op), lane, from),
                "let all lanes of the SIMD group come to it, or read active lanes only"};
  });
}

void Group::shuffle(const Statement& s) {
  if (s.op == Op::shuffle) require_known(s, 1, "lane index");
  require_active_sources(s);
  require_full(s, Code::machine_divergent_simd);
  require_closed(s);
  const Word* first = frame_.value(s.operands[0]);
  const lane::ValueId a = s.operands[0], b = s.operands.back();
  const Word* second = frame_.value(b);
  OwnVector out;
  for (std::uint32_t lane = 0; lane < width_; ++lane) {
    std::uint32_t from = source_lane(s, lane);
    const bool other = from >= width_;
    if (other) from -= width_;
    out.words[lane] = (other ? second : first)[from];
    out.poison |= (frame_.poison[other ? b : a] >> from & 1) << lane;
    out.symbolic |= (frame_.symbolic[other ? b : a] >> from & 1) << lane;
  }
  std::copy_n(out.words.begin(), width_, frame_.value(s.result));
  frame_.poison[s.result] = out.poison;
  frame_.symbolic[s.result] = out.symbolic;
}

void Group::fold_lanes(const Statement& s) {
  require_full(s, Code::machine_divergent_simd);
  require_closed(s);
  Evaluator& evaluator = launch_.evaluator;
  const std::size_t components = evaluator.results(s.a);
  std::vector<OwnVector> state(s.operands.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::copy_n(frame_.value(s.operands[i]), width_, state[i].words.begin());
    state[i].poison = frame_.poison[s.operands[i]];
    state[i].symbolic = frame_.symbolic[s.operands[i]];
  }
  std::vector<LaneVector> arguments;
  std::vector<OwnVector> sides;
  for (std::uint32_t bit = s.b; bit < s.b + s.count; ++bit) {
    const std::uint32_t distance = 1u << bit;
    const std::size_t registers = state.size() / components;
    const bool transpose = registers > 1;
    std::vector<OwnVector> next;
    for (std::size_t q = 0; q < std::max<std::size_t>(1, registers / 2); ++q) {
      sides.clear();
      for (const bool right : {false, true}) {
        for (std::size_t c = 0; c < components; ++c) {
          const OwnVector& even = state[(transpose ? 2 * q : q) * components + c];
          const OwnVector& odd = state[(transpose ? 2 * q + 1 : q) * components + c];
          const auto upper = [&](std::uint32_t lane) { return (lane & distance) != 0; };
          const auto source = [&](std::uint32_t lane) -> const OwnVector& { return upper(lane) ? odd : even; };
          const auto from = [&](std::uint32_t lane) { return right ? lane | distance : lane & ~distance; };
          sides.push_back(gather(width_, source, from));
        }
      }
      arguments.clear();
      for (const OwnVector& side : sides) arguments.push_back({side.words.data(), side.poison, side.symbolic});
      for (const LaneVector& result : evaluator.call(s.a, arguments, mask_)) {
        OwnVector& merged = next.emplace_back();
        std::copy_n(result.words, width_, merged.words.begin());
        merged.poison = result.poison;
        merged.symbolic = result.symbolic;
      }
    }
    state = std::move(next);
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::copy_n(state[i].words.begin(), width_, frame_.value(s.result + i));
    frame_.poison[s.result + i] = state[i].poison;
    frame_.symbolic[s.result + i] = state[i].symbolic;
  }
}

}  // namespace lanefold::machine
