#include "bench/page/page_figures.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "bench/stats/statistics.h"

namespace lanefold::bench {
namespace {

constexpr std::size_t kLeastSizes = 3;

bool all_positive(const std::vector<double>& values) {
  return !values.empty() &&
         std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v) && v > 0; });
}

bool timed(const CaseRecord& record) {
  const ArmRecord* subject = record.arm("subject");
  return record.ok() && subject != nullptr && all_positive(subject->wall_us);
}

void sort_by_size(Growth& growth) {
  std::stable_sort(growth.cases.begin(), growth.cases.end(), [&](const CaseRecord* a, const CaseRecord* b) {
    return growing_size(growth, *a) < growing_size(growth, *b);
  });
}

}  // namespace

std::optional<RatioSpread> time_ratio(const ArmRecord& subject, const ArmRecord& rival) {
  if (!all_positive(subject.wall_us) || !all_positive(rival.wall_us)) return std::nullopt;
  return ratio_spread(same_round_ratios(subject, rival));
}

std::vector<const ArmRecord*> rivals(const CaseRecord& record) {
  std::vector<const ArmRecord*> found;
  for (const ArmRecord& arm : record.arms) {
    if (arm.role != "subject" && arm.role != "ceiling") found.push_back(&arm);
  }
  return found;
}

std::vector<std::string> rival_names(const std::vector<CaseRecord>& cases) {
  std::vector<std::string> names;
  for (const CaseRecord& record : cases) {
    for (const ArmRecord* rival : rivals(record)) {
      if (std::find(names.begin(), names.end(), rival->name) == names.end()) names.push_back(rival->name);
    }
  }
  return names;
}

std::optional<double> subject_gb_per_s(const CaseRecord& record) {
  const ArmRecord* subject = record.arm("subject");
  if (subject == nullptr) return std::nullopt;
  const ArmRecord* ceiling = record.arm("ceiling");
  const bool by_device = !subject->device_us.empty() && (ceiling == nullptr || !ceiling->device_us.empty());
  const std::vector<double>& us = by_device ? subject->device_us : subject->wall_us;
  const double moved = static_cast<double>(record.bytes_read) + static_cast<double>(record.bytes_written);
  if (!all_positive(us) || moved <= 0) return std::nullopt;
  return moved / median(us) * 1e-3;
}

std::optional<double> ceiling_gb_per_s(const CaseRecord& record) {
  const std::optional<double> subject = subject_gb_per_s(record);
  const std::optional<double> share = record.share_of_ceiling();
  if (!subject || !share || !(*share > 0)) return std::nullopt;
  return *subject / *share;
}

std::int64_t growing_size(const Growth& growth, const CaseRecord& record) {
  return growth.grows == "rows" ? record.rows : record.cols;
}

std::vector<Growth> growths(const Results& results) {
  std::vector<Growth> found;
  std::set<std::set<const CaseRecord*>> drawn;
  const auto take = [&](Growth growth) {
    sort_by_size(growth);
    std::set<std::int64_t> sizes;
    for (const CaseRecord* record : growth.cases) sizes.insert(growing_size(growth, *record));
    if (sizes.size() < kLeastSizes || *sizes.begin() <= 0) return;
    if (!drawn.insert({growth.cases.begin(), growth.cases.end()}).second) return;
    found.push_back(std::move(growth));
  };
  for (const FitRecord& fit : results.fits) {
    Growth growth{fit.kernel, fit.dtype, fit.grows, fit.fixed, &fit, {}};
    for (const CaseRecord& record : results.cases) {
      if (timed(record) && std::find(fit.cases.begin(), fit.cases.end(), record.id) != fit.cases.end()) {
        growth.cases.push_back(&record);
      }
    }
    take(std::move(growth));
  }
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, unsigned, std::int64_t>;
  std::vector<std::pair<Key, Growth>> groups;
  for (const CaseRecord& record : results.cases) {
    if (!timed(record)) continue;
    for (const std::string grows : {"cols", "rows"}) {
      const std::int64_t fixed = grows == "cols" ? record.rows : record.cols;
      Key key{record.suite, record.kernel, record.dtype, record.order, grows, record.threads, fixed};
      auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
      if (group == groups.end()) {
        groups.emplace_back(key, Growth{record.kernel, record.dtype, grows, fixed, nullptr, {}});
        group = groups.end() - 1;
      }
      group->second.cases.push_back(&record);
    }
  }
  for (auto& [key, growth] : groups) take(std::move(growth));
  return found;
}

}  // namespace lanefold::bench
