// What a report says of each kind of run, as HTML.
#pragma once

#include <string>
#include <string_view>
#include <nlohmann/json.hpp>

#include "bench/results/results.h"

namespace lanefold::bench {

/// A chart with what it shows; empty where `spec` is null.
std::string figure(const nlohmann::json& spec, std::string_view title, std::string_view caption);
/// Where, with what and how it was measured.
std::string environment_section(const Results& results);
/// `anchor` begins the ids of its elements.
std::string bench_section(const Results& results, const std::string& anchor);
std::string comparison_section(const Results& results);
std::string replay_section(const Results& results);

}  // namespace lanefold::bench
