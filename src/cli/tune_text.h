// What `lanefold tune` has found, for people.
#pragma once

#include <string>
#include <vector>

#include "bench/tune/tune.h"

namespace lanefold::cli {

struct TunedLine {
  bench::TuneRecord record;
  bool kept = false;  ///< its winner is stored
};

/// A table of the cases, the plans that won, and what failed. `keeps`: winners were to be stored.
std::string tuned_text(const std::vector<TunedLine>& lines, bool keeps);

}  // namespace lanefold::cli
