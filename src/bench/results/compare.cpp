#include "bench/results/compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/results/ratios.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {
namespace {

const CaseRecord* find_case(const Results& results, const std::string& id) {
  const auto found =
      std::find_if(results.cases.begin(), results.cases.end(), [&](const CaseRecord& c) { return c.id == id; });
  return found == results.cases.end() ? nullptr : &*found;
}

/// The subject's samples; none where the case was not timed.
const std::vector<double>* samples_of(const CaseRecord& c) {
  const ArmRecord* subject = c.arm("subject");
  return c.ok() && subject != nullptr && !subject->wall_us.empty() ? &judged_us(*subject) : nullptr;
}

/// Of the rank-sum test on samples that do not overlap: both orders of all ways to choose which ranks are whose.
double least_probability(std::size_t a, std::size_t b) {
  double ways = 1;
  for (std::size_t i = 1; i <= a; ++i) ways *= static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

CaseChange change_of(const CaseRecord& before, const CaseRecord& now, double least) {
  CaseChange change;
  change.id = now.id;
  change.old_us = median(*samples_of(before));
  change.new_us = median(*samples_of(now));
  change.ratio = change.new_us / change.old_us;
  change.probability = rank_sum_probability(*samples_of(before), *samples_of(now));
  change.enough = least_probability(samples_of(before)->size(), samples_of(now)->size()) <= kSignificance;
  change.of_copy = change.ratio;
  const std::optional<double> share_before = before.share_of_ceiling(), share_now = now.share_of_ceiling();
  if (share_before && share_now) change.of_copy = *share_before / *share_now;
  if (change.probability > kSignificance) return change;
  if (std::min(change.ratio, change.of_copy) > least) change.claim = Claim::slower;
  if (std::max(change.ratio, change.of_copy) < 1 / least) change.claim = Claim::faster;
  return change;
}

std::vector<std::string> environment_differences(const Environment& before, const Environment& now) {
  std::vector<std::string> differences;
  const auto add = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b)
      differences.push_back(fmt::format("{}: {}, now {}", what, a.empty() ? "unknown" : a, b.empty() ? "unknown" : b));
  };
  add("device", before.device_name, now.device_name);
  add("target", before.target, now.target);
  add("driver", before.driver, now.driver);
  add("compiler", before.compiler, now.compiler);
  add("system", before.system, now.system);
  add("processors", std::to_string(before.processors), std::to_string(now.processors));
  add("revision", before.revision, now.revision);
  add("binary", before.binary.sha256.substr(0, 12), now.binary.sha256.substr(0, 12));
  return differences;
}

}  // namespace

bool ResultsChange::regressed() const {
  return !failed_now.empty() ||
         std::any_of(cases.begin(), cases.end(), [](const CaseChange& c) { return c.claim == Claim::slower; });
}

Result<ResultsChange> compare_results(const Results& old_results, const Results& new_results, double least) {
  for (const Results* results : {&old_results, &new_results})
    if (results->kind != "bench")
      return Diagnostic{Code::results_kind, fmt::format("results of kind {} have no cases to compare", results->kind),
                        "give folders that `lanefold bench` has written", "--compare"};
  ResultsChange change;
  for (const CaseRecord& now : new_results.cases) {
    const CaseRecord* before = find_case(old_results, now.id);
    if (before == nullptr) {
      change.only_new.push_back(now.id);
    } else if (samples_of(*before) != nullptr && samples_of(now) == nullptr) {
      change.failed_now.push_back(now.id);
    } else if (samples_of(*before) != nullptr) {
      change.cases.push_back(change_of(*before, now, least));
    }
  }
  for (const CaseRecord& before : old_results.cases)
    if (find_case(new_results, before.id) == nullptr) change.only_old.push_back(before.id);
  if (change.cases.empty() && change.failed_now.empty())
    return Diagnostic{Code::nothing_in_common, "the two results have no timed case in common",
                      "measure the same kernels, sizes, device and threads twice", "--compare"};
  change.differences = environment_differences(old_results.environment, new_results.environment);
  if (!old_results.complete) change.differences.emplace_back("partial: the old run has not come to its end");
  if (!new_results.complete) change.differences.emplace_back("partial: the new run has not come to its end");
  return change;
}

}  // namespace lanefold::bench
