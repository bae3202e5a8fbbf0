#include "bench/stats/paired.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/diagnostic.h"
#include "base/random.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {

std::string_view pair_kind_name(PairKind kind) {
  switch (kind) {
    case PairKind::ab: return "ab";
    case PairKind::aa: return "aa";
    case PairKind::bb: return "bb";
  }
  internal_error("no such kind of pair");
}

std::string_view claim_name(Claim claim) {
  switch (claim) {
    case Claim::faster: return "faster";
    case Claim::slower: return "slower";
    case Claim::no_difference_shown: return "no difference shown";
  }
  internal_error("no such claim");
}

std::vector<PairTurn> pair_schedule(int pairs, std::uint64_t seed) {
  if (pairs < 0) internal_error("a schedule of fewer than 0 pairs");
  Random random(seed);
  std::vector<PairTurn> turns;
  turns.reserve(3 * static_cast<std::size_t>(pairs));
  for (const PairKind kind : {PairKind::ab, PairKind::aa, PairKind::bb}) {
    // An odd one out gets either order by a coin.
    const int second_first = pairs % 2 == 0 ? pairs / 2 : pairs / 2 + static_cast<int>(random.below(2));
    for (int i = 0; i < pairs; ++i) turns.push_back({kind, i < second_first});
  }
  for (std::size_t left = turns.size(); left > 1; --left) std::swap(turns[left - 1], turns[random.below(left)]);
  return turns;
}

PairedVerdict judge_pairs(std::span<const Pair> pairs) {
  std::vector<double> ratios, null;  // natural logarithms, so that A over B is the negative of B over A
  ratios.reserve(pairs.size());
  null.reserve(pairs.size());
  for (const Pair& pair : pairs) {
    const bool usable =
        pair.first_us > 0 && pair.second_us > 0 && std::isfinite(pair.first_us) && std::isfinite(pair.second_us);
    if (!usable) internal_error("a pair holds a time that is not a positive number");
    const double difference = std::log(pair.second_us) - std::log(pair.first_us);
    if (pair.turn.kind == PairKind::ab) {
      ratios.push_back(difference);
    } else {
      null.push_back(std::abs(difference));
    }
  }
  PairedVerdict verdict;
  if (!null.empty()) {
    const double half_width = quantile(null, kNullShare);
    verdict.null_low = std::exp(-half_width);
    verdict.null_high = std::exp(half_width);
  }
  if (ratios.empty()) return verdict;
  verdict.ratio = std::exp(median(ratios));
  verdict.ratio_low = std::exp(quantile(ratios, 0.1));
  verdict.ratio_high = std::exp(quantile(ratios, 0.9));
  verdict.probability = signed_rank(ratios).probability;
  if (null.empty() || verdict.probability > kSignificance) return verdict;
  if (verdict.ratio < verdict.null_low) verdict.claim = Claim::faster;
  if (verdict.ratio > verdict.null_high) verdict.claim = Claim::slower;
  return verdict;
}

}  // namespace lanefold::bench
