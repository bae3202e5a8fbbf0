// What the lane machine has counted, as a table with a column for each kernel and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "verify/module_run.h"

namespace lanefold::cli {

struct CountedKernel {
  std::string name;      ///< as it was given
  std::string made_for;  ///< its sizes, as text
  std::uint32_t simd_width = 0;
  machine::Counts counts;
  std::vector<Diagnostic> findings;
};

/// One line per measure, one column per kernel.
std::string counts_text(std::span<const CountedKernel> kernels);
nlohmann::json counts_json(const machine::Counts& counts);

}  // namespace lanefold::cli
