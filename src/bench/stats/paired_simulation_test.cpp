// The rule of judge_pairs over thousands of simulated runs: how often it claims what is not there, and finds what is.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>

#include "base/random.h"
#include "bench/stats/paired.h"

namespace lanefold::bench {
namespace {

constexpr std::uint64_t kSeed = 20240611;

/// What the times of one run are made of; all sizes are natural logarithms of times.
struct Noise {
  const char* name;
  double spread = 0;       ///< standard deviation of one sample
  double memory = 0;       ///< correlation of one sample's noise with that of the sample before it
  double spikes = 0;       ///< share of samples that take 1.5 to 3 times as long
  double walk = 0;         ///< standard deviation of a random walk's step from sample to sample
  double drift = 0;        ///< rise from the first sample to the last
  double two_speeds = 0;   ///< distance of two speeds of the machine, between which it changes every 20 samples or so
  double placement = 0;    ///< standard deviation of what each of A, B and their twins has for the whole run
  double second_slow = 0;  ///< extra of whichever member of a pair runs second
};
void PrintTo(const Noise& noise, std::ostream* out) { *out << noise.name; }

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {}

  /// A run of `count` pairs of each kind in which B takes exp(shift) times as long as A.
  void run(const Noise& noise, int count, double shift, std::vector<Pair>& pairs) {
    pairs.clear();
    const auto turns = pair_schedule(count, random_.next());
    const double step = 1 / static_cast<double>(2 * turns.size());
    const double fresh = std::sqrt(1 - noise.memory * noise.memory);
    double own[4];  // of A, its twin, B, its twin
    for (int object = 0; object < 4; ++object) own[object] = noise.placement * normal() + (object >= 2 ? shift : 0);
    double recent = normal(), walk = 0, drift = 0;
    bool slow = random_.below(2) == 0;
    for (const PairTurn& turn : turns) {
      double log_us[2];
      for (int place = 0; place < 2; ++place) {
        const int member = turn.second_first ? 1 - place : place;
        const int object = turn.kind == PairKind::ab ? 2 * member : (turn.kind == PairKind::bb ? 2 : 0) + member;
        recent = noise.memory == 0 ? normal() : noise.memory * recent + fresh * normal();
        if (noise.walk > 0) walk += noise.walk * normal();
        if (noise.two_speeds > 0 && uniform() < 0.05) slow = !slow;
        double us = own[object] + noise.spread * recent + walk + drift;
        if (noise.spikes > 0 && uniform() < noise.spikes) us += std::log(1.5 + 1.5 * uniform());
        if (slow) us += noise.two_speeds;
        if (place == 1) us += noise.second_slow;
        log_us[member] = us;
        drift += noise.drift * step;
      }
      pairs.push_back({turn, 80 * std::exp(log_us[0]), 80 * std::exp(log_us[1])});
    }
  }

 private:
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
  /// Standard normal, by Marsaglia's polar method.
  double normal() {
    if (spare_ready_) {
      spare_ready_ = false;
      return spare_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double stretch = std::sqrt(-2 * std::log(square) / square);
    spare_ = y * stretch;
    spare_ready_ = true;
    return x * stretch;
  }

  Random random_;
  double spare_ = 0;
  bool spare_ready_ = false;
};

class NullRuns : public testing::TestWithParam<Noise> {};

TEST_P(NullRuns, AreClaimedAtMostOnceInAHundred) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RecordProperty("seed", std::to_string(kSeed));
  struct Size {
    int pairs, runs;
  };
  for (const Size size : {Size{9, 10000}, Size{15, 5000}, Size{25, 5000}}) {
    // A seed of its own for each setting: from a common one, runs that differ in spread only would be the same runs.
    Simulation simulation(kSeed + static_cast<std::uint64_t>(GetParam().spread * 1e4) * 100 +
                          static_cast<std::uint64_t>(size.pairs));
    std::vector<Pair> pairs;
    int claims = 0, rank_alone = 0;
    for (int run = 0; run < size.runs; ++run) {
      simulation.run(GetParam(), size.pairs, 0, pairs);
      const PairedVerdict verdict = judge_pairs(pairs);
      claims += verdict.claim == Claim::no_difference_shown ? 0 : 1;
      rank_alone += verdict.probability <= kSignificance ? 1 : 0;
    }
    EXPECT_LE(claims, size.runs / 100) << size.pairs << " pairs";
    // The rank test keeps its own promise without the null's help, give or take four standard errors of this count. A
    // placement that lasts is to it a difference like any other.
    if (GetParam().placement == 0) {
      EXPECT_LE(rank_alone, 0.01 * size.runs + 4 * std::sqrt(0.01 * size.runs)) << size.pairs << " pairs";
    }
    RecordProperty("claims_at_" + std::to_string(size.pairs), claims);
    RecordProperty("rank_test_alone_at_" + std::to_string(size.pairs), rank_alone);
  }
}

INSTANTIATE_TEST_SUITE_P(Noise, NullRuns,
                         testing::Values(Noise{.name = "normal_0p5", .spread = 0.005},
                                         Noise{.name = "normal_1", .spread = 0.01},
                                         Noise{.name = "normal_2", .spread = 0.02},
                                         Noise{.name = "normal_5", .spread = 0.05},
                                         Noise{.name = "normal_20", .spread = 0.2},
                                         Noise{.name = "spikes_0p5", .spread = 0.005, .spikes = 0.05},
                                         Noise{.name = "spikes_5", .spread = 0.05, .spikes = 0.05},
                                         Noise{.name = "random_walk", .spread = 0.005, .walk = 0.01},
                                         Noise{.name = "linear_drift", .spread = 0.005, .drift = 0.1},
                                         Noise{.name = "two_speeds", .spread = 0.005, .two_speeds = 0.08},
                                         Noise{.name = "autocorrelated", .spread = 0.01, .memory = 0.8},
                                         Noise{.name = "second_slow", .spread = 0.01, .second_slow = 0.03},
                                         Noise{.name = "placement", .spread = 0.02, .placement = 0.005}),
                         [](const auto& entry) { return std::string(entry.param.name); });

/// A difference that is there, and the share of runs that must find it.
struct Shift {
  const char* name;
  Noise noise;
  int pairs;
  double ratio;  ///< B's time over A's; half of the runs have its inverse
};
void PrintTo(const Shift& shift, std::ostream* out) { *out << shift.name; }

class ShiftedRuns : public testing::TestWithParam<Shift> {};

TEST_P(ShiftedRuns, AreFoundNineTimesInTen) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RecordProperty("seed", std::to_string(kSeed));
  Simulation simulation(kSeed);
  std::vector<Pair> pairs;
  const int runs = 2000;
  int found[2] = {0, 0}, wrong = 0;
  for (int run = 0; run < runs; ++run) {
    const bool faster = run % 2 == 0;
    const double shift = std::log(GetParam().ratio);
    simulation.run(GetParam().noise, GetParam().pairs, faster ? -shift : shift, pairs);
    const Claim claim = judge_pairs(pairs).claim;
    if (claim == (faster ? Claim::faster : Claim::slower)) ++found[faster ? 1 : 0];
    if (claim == (faster ? Claim::slower : Claim::faster)) ++wrong;
  }
  EXPECT_GE(found[0], 0.9 * (runs / 2));
  EXPECT_GE(found[1], 0.9 * (runs / 2));
  EXPECT_EQ(wrong, 0);
  RecordProperty("found", found[0] + found[1]);
}

INSTANTIATE_TEST_SUITE_P(Noise, ShiftedRuns,
                         testing::Values(
                             // 5 % at 9 pairs, up to a spread of 1.5 % a sample.
                             Shift{"normal_0p5_at_9", {.name = "", .spread = 0.005}, 9, 1.05},
                             Shift{"normal_1_at_9", {.name = "", .spread = 0.01}, 9, 1.05},
                             Shift{"normal_1p5_at_9", {.name = "", .spread = 0.015}, 9, 1.05},
                             Shift{"random_walk_at_9", {.name = "", .spread = 0.005, .walk = 0.01}, 9, 1.05},
                             Shift{"linear_drift_at_9", {.name = "", .spread = 0.005, .drift = 0.1}, 9, 1.05},
                             Shift{"two_speeds_at_9", {.name = "", .spread = 0.005, .two_speeds = 0.08}, 9, 1.05},
                             Shift{"autocorrelated_at_9", {.name = "", .spread = 0.01, .memory = 0.8}, 9, 1.05},
                             // More pairs bear a little more noise.
                             Shift{"normal_1p75_at_11", {.name = "", .spread = 0.0175}, 11, 1.05},
                             Shift{"normal_2_at_20", {.name = "", .spread = 0.02}, 20, 1.05},
                             Shift{"normal_2_at_25", {.name = "", .spread = 0.02}, 25, 1.05},
                             Shift{"spikes_0p5_at_35", {.name = "", .spread = 0.005, .spikes = 0.05}, 35, 1.05},
                             // Beyond that hardly any number of pairs shows 5 %; what is shown grows with the spread.
                             Shift{"normal_3_at_25", {.name = "", .spread = 0.03}, 25, 1.08},
                             Shift{"normal_5_at_25", {.name = "", .spread = 0.05}, 25, 1.13}),
                         [](const auto& entry) { return std::string(entry.param.name); });

}  // namespace
}  // namespace lanefold::bench
