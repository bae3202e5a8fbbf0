// Results as tables for people.
#pragma once

#include <string>
#include <vector>

#include "bench/results/compare.h"

namespace lanefold::cli {

/// Failed cases first, with their reason; then a table of cases, fits, comparisons and replays.
std::string results_text(const bench::Results& results);

/// One line for each comparison of several results; empty where there is none.
std::string comparisons_text(const std::vector<bench::Results>& results);

/// Old results beside new ones: what became slower first.
std::string change_text(const bench::ResultsChange& change);

/// A time with three digits: "0.412", "35.1", "6580".
std::string short_time(double microseconds);

/// Whether anything in the results has failed.
bool has_failures(const bench::Results& results);

}  // namespace lanefold::cli
