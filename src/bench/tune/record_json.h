// What tuning has measured, as JSON: the line of a case that tools/fit_cuda_cost.py reads.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "bench/tune/tune.h"

namespace lanefold::bench {

/// A short name of a plan's layout: bits of component, lane, register, pass, SIMD group and cluster; rows of a threadgroup; stripe.
std::string layout_name(const plan::Plan& plan);

/// The case: its sizes, what its cost depends on, every plan with its times, the trials, and what was decided. `kept`: whether
/// the winner is kept for kernels to come.
nlohmann::json record_json(const TuneRecord& record, bool kept);

}  // namespace lanefold::bench
