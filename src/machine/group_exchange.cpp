// Shuffles and folds between the lanes of a SIMD group.
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
};

/// A lane vector whose lane i is lane from(i) of the vector that source(i) names.
template <class Source, class From>
OwnVector gather(std::uint32_t width, Source source, From from) {
  OwnVector out;
  for (std::uint32_t lane = 0; lane < width; ++lane) {
    const OwnVector& in = source(lane);
    out.words[lane] = in.words[from(lane)];
    out.poison |= (in.poison >> from(lane) & 1) << lane;
  }
  return out;
}

}  // namespace

void Group::shuffle(const Statement& s) {
  require_full(s, Code::machine_divergent_simd);
  if (s.op == Op::shuffle) require_known(s, 1, "lane index");
  const Word* first = frame_.value(s.operands[0]);
  const Word* second = s.operands.size() > 1 ? frame_.value(s.operands[1]) : first;
  const LaneMask first_poison = frame_.poison[s.operands[0]];
  const LaneMask second_poison = frame_.poison[s.operands.back()];
  OwnVector out;
  for (std::uint32_t lane = 0; lane < width_; ++lane) {
    std::uint32_t from = lane;
    if (s.op == Op::shuffle_xor) from = lane ^ s.b;
    if (s.op == Op::shuffle_down && lane + s.b < width_) from = lane + s.b;
    if (s.op == Op::shuffle) from = static_cast<std::uint32_t>(second[lane]) & (width_ - 1);
    if (s.op == Op::permute2) from = s.table[lane];
    const bool other = from >= width_;
    if (other) from -= width_;
    out.words[lane] = (other ? second : first)[from];
    out.poison |= ((other ? second_poison : first_poison) >> from & 1) << lane;
  }
  std::copy_n(out.words.begin(), width_, frame_.value(s.result));
  frame_.poison[s.result] = out.poison;
}

void Group::fold_lanes(const Statement& s) {
  require_full(s, Code::machine_divergent_simd);
  Evaluator& evaluator = threadgroup_.evaluator;
  const std::size_t components = evaluator.results(s.a);
  std::vector<OwnVector> state(s.operands.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::copy_n(frame_.value(s.operands[i]), width_, state[i].words.begin());
    state[i].poison = frame_.poison[s.operands[i]];
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
      for (const OwnVector& side : sides) arguments.push_back({side.words.data(), side.poison});
      for (const LaneVector& result : evaluator.call(s.a, arguments, mask_)) {
        OwnVector& merged = next.emplace_back();
        std::copy_n(result.words, width_, merged.words.begin());
        merged.poison = result.poison;
      }
    }
    state = std::move(next);
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::copy_n(state[i].words.begin(), width_, frame_.value(s.result + i));
    frame_.poison[s.result + i] = state[i].poison;
  }
}

}  // namespace lanefold::machine
