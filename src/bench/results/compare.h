// Old results beside new ones: what became slower.
#pragma once

#include <string>
#include <vector>

#include "bench/results/results.h"

namespace lanefold::bench {

/// One case that both results have. Ratios are new over old: above 1 is slower.
struct CaseChange {
  std::string id;
  double old_us = 0, new_us = 0;  ///< medians of the subject
  double ratio = 1;
  double of_copy =
      1;  ///< the same ratio, each run's time in units of its own copy's: cancels what slowed the whole machine
  double probability = 1;  ///< of the rank-sum test on the two runs' samples
  bool enough = true;      ///< false: with so few samples the test cannot reach kSignificance, so nothing is claimed
  Claim claim = Claim::no_difference_shown;
};

struct ResultsChange {
  std::vector<CaseChange> cases;
  std::vector<std::string> failed_now;  ///< ids that were timed before and have failed now
  std::vector<std::string> only_old, only_new;
  std::vector<std::string> differences;  ///< what else is not the same: "target: cpu-avx2, now cpu-avx512"
  bool regressed() const;
};

/// Compares cases of equal ids, as `lanefold bench` writes them. A case became slower or faster where the rank-sum
/// test says so at kSignificance, and both ratios lie beyond `least` (1.05: five percent) in the same direction. nothing_in_common, results_kind for results of other verbs.
Result<ResultsChange> compare_results(const Results& old_results, const Results& new_results, double least);

}  // namespace lanefold::bench
