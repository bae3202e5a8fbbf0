// The charts of a report, as Vega-Lite specifications with their data in them. Each is null where there is nothing to
// draw.
#pragma once

#include <vector>
#include <nlohmann/json.hpp>

#include "bench/page/page_figures.h"
#include "bench/results/results.h"

namespace lanefold::bench {

/// Time of the subject over that of each rival, on a logarithmic axis, with the spread of same-round ratios.
nlohmann::json ratio_chart(const std::vector<CaseRecord>& cases);
/// Bandwidth of each case beside that of a copy of as many bytes.
nlohmann::json bandwidth_chart(const std::vector<CaseRecord>& cases);
/// Time over size, both logarithmic, with the fitted line and the copy's.
nlohmann::json growth_chart(const Growth& growth);
/// Every sample of every arm of a case.
nlohmann::json sample_chart(const CaseRecord& record);
/// Ratios of pairs over the spread of null pairs.
nlohmann::json comparison_chart(const std::vector<ComparisonRecord>& comparisons);
/// Same-round ratios of frozen plans, least to greatest.
nlohmann::json replay_chart(const std::vector<ReplayRecord>& replays);

}  // namespace lanefold::bench
