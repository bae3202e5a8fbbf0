// The plans that choose() chooses among, for whoever lets measurement decide.
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace lanefold::plan {

/// The plan of every legal candidate, by ascending cost; the first is the plan that choose() gives, but for the list of
/// candidates, which these plans do not have. Refuses what choose() refuses.
Result<std::vector<Plan>> legal_plans(const ir::Program& program, const target::Target& target, const Request& request);

}  // namespace lanefold::plan
