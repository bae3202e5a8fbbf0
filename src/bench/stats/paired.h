// Paired comparison of two arms: the order of pairs, and what may be claimed from their times.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lanefold::bench {

/// What stands in a pair: both arms, or one arm and its twin (the same kernel made a second time), which shows what
/// noise alone does.
enum class PairKind : std::uint8_t { ab, aa, bb };
std::string_view pair_kind_name(PairKind kind);

/// One pair to be taken.
struct PairTurn {
  PairKind kind = PairKind::ab;
  bool second_first = false;  ///< the second member (B, or the twin) runs first
};

/// `pairs` of each kind in random order, each with a random inner order; in every kind the two inner orders occur
/// equally often, give or take one. The same seed gives the same schedule everywhere.
std::vector<PairTurn> pair_schedule(int pairs, std::uint64_t seed);

/// One pair as it was measured: µs per call of its two members.
struct Pair {
  PairTurn turn;
  double first_us = 0;   ///< of A, or of the arm itself
  double second_us = 0;  ///< of B, or of the twin
};

/// What is claimed of B beside A.
enum class Claim : std::uint8_t { faster, slower, no_difference_shown };
/// "faster", "slower", "no difference shown".
std::string_view claim_name(Claim claim);

/// Ratios are B's time over A's of the same pair: below 1, B is faster. All of it is computed on logarithms, so that
/// exchanging A and B inverts every ratio. The two spreads are the same measure, the 0.1 and 0.9 quantiles; of null
/// ratios both directions count, for nothing tells an arm from its twin.
struct PairedVerdict {
  Claim claim = Claim::no_difference_shown;
  double ratio = 1;                      ///< median over the pairs
  double ratio_low = 1, ratio_high = 1;  ///< spread: the 0.1 and 0.9 quantiles of the pairs' ratios
  double null_low = 1, null_high = 1;    ///< the null's spread, 1 / x to x: holds kNullShare of the aa and bb pairs
  double probability = 1;                ///< of the signed-rank test on the logarithms of the ratios
};

/// The largest probability at which a difference is claimed.
inline constexpr double kSignificance = 0.01;
/// Fewer ab pairs than this never let a difference be claimed.
inline constexpr int kFewestPairs = 8;
/// The share of null pairs within the null's spread.
inline constexpr double kNullShare = 0.8;

/// Claims a difference where the signed-rank test finds one at kSignificance and the median ratio lies outside the
/// null's spread.
///
/// The test cannot reach kSignificance with fewer than kFewestPairs ab pairs whose ratio is not exactly 1 (2 / 2^7 > 0.01), so
/// nothing is claimed of fewer; nor without null pairs, nor without ab pairs.
///
/// The null's spread is one of single pairs and does not shrink with their number: more pairs make the median surer,
/// but only quieter (longer) samples let a smaller difference be claimed. Where a sample's noise is normal with
/// standard deviation s (of its logarithm), nine runs of ten find a difference of 3 s at 9 pairs and of 2.4 s at 25;
/// one below 1.8 s is hardly found by any number.
///
/// What two makes of one kernel differ by for the whole run (where their code or data lie) is to the test a difference
/// like any other. The null holds it back only where it is small beside the noise, up to a quarter of s; so whoever takes
/// pairs should make each arm several times and draw anew for each pair (as bench/ab.h does): then the null shows it.
///
/// A time that is not a positive finite number is an internal error.
PairedVerdict judge_pairs(std::span<const Pair> pairs);

}  // namespace lanefold::bench
