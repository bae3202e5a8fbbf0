// The first look at many plans: each is made, checked and timed briefly.
#pragma once

#include <filesystem>

#include "bench/tune/tune.h"

namespace lanefold::bench {

/// The request with this plan instead of the cost basis's choice, compiled code kept in the folder.
SubjectRequest with_plan(const TuneRequest& request, const plan::Plan& plan, const std::filesystem::path& code_folder);

/// Fills everything of the record but `decision`. On a CUDA device, the plans' code is compiled by all processors first.
void screen(const TuneRequest& request, const std::filesystem::path& code_folder, TuneRecord& record);

}  // namespace lanefold::bench
