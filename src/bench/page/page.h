// lanefold report: results as one page that needs nothing else.
#pragma once

#include <span>
#include <string>

#include "bench/results/results.h"

namespace lanefold::bench {

struct LoadedResults {
  std::string label;  ///< how the page names the run: the folder, as it was given
  Results results;
};

/// One HTML page: failures of all runs first, then a section for each run with its tables and charts. The plotting
/// library is within it, and its own policy forbids the browser to load anything. Names, messages and commands may hold
/// any text.
std::string report_page(std::span<const LoadedResults> runs);

}  // namespace lanefold::bench
