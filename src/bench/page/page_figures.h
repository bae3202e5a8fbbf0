// Figures that a report derives from samples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/results/ratios.h"

namespace lanefold::bench {

/// The subject's time over a rival's, in the rounds that both have: below 1, the subject is faster. By the host's clock; none
/// where either arm has no samples, or one that is no positive number.
std::optional<RatioSpread> time_ratio(const ArmRecord& subject, const ArmRecord& rival);

/// Arms that the subject is compared with: peers and a baseline, whether they have samples or not.
std::vector<const ArmRecord*> rivals(const CaseRecord& record);
/// Names of all rivals of these cases, in the order in which they first occur.
std::vector<std::string> rival_names(const std::vector<CaseRecord>& cases);

/// 10^9 bytes a second, read plus written, by the clock of CaseRecord::share_of_ceiling.
std::optional<double> subject_gb_per_s(const CaseRecord& record);
std::optional<double> ceiling_gb_per_s(const CaseRecord& record);

/// Cases that differ in one size only.
struct Growth {
  std::string kernel, dtype;
  std::string grows;                     ///< "cols" or "rows"
  std::int64_t fixed = 0;                ///< the other size
  const FitRecord* fit = nullptr;        ///< none: sizes without a fitted line
  std::vector<const CaseRecord*> cases;  ///< timed ones, by growing size
};
std::int64_t growing_size(const Growth& growth, const CaseRecord& record);
/// Every fit with its cases, then every other set of at least three sizes of one kernel.
std::vector<Growth> growths(const Results& results);

}  // namespace lanefold::bench
