// How time grows with one size.
#pragma once

#include <vector>

#include "bench/results/results.h"

namespace lanefold::bench {

/// time = launch + bytes / bandwidth for every kernel of which one size grows in cases of the suite "growth": least squares of the relative error, neither
/// term below zero. Cases that were not timed are left out; fewer than three points give no fit.
std::vector<FitRecord> fit_growth(const std::vector<CaseRecord>& cases);

}  // namespace lanefold::bench
