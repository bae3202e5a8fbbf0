// The plans of a program that runs in stages: one for each stage.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/program.h"
#include "plan/plan.h"
#include "target/target.h"

namespace lanefold::verify {

struct StagePlan {
  std::string title;        ///< as ir::Stage has it
  bool transposed = false;  ///< its rows are the columns of the whole program, and its columns the rows
  plan::Plan plan;
};

/// The plan of each stage, in the order in which they run, for matrices that lie row after row without gaps. `request` has the
/// rows and columns of the whole. `runs` says that the target's processor is to run it, so that stages along rows may have
/// their rows side by side, as the CPU device has them. Refuses what planning refuses, and what has nothing to fold.
Result<std::vector<StagePlan>> plan_stages(const ir::Program& program, const target::Target& target,
                                           const plan::Request& request, bool runs);

/// "stage 2 of 3, along rows", counted from 0.
std::string stage_title(const std::vector<StagePlan>& plans, std::size_t stage);

/// One line for each stage.
std::string stage_lines(const std::vector<StagePlan>& plans);

/// {"program": …, "stages": [{"stage": "along rows", "transposed": true, "plan": {…}}]}, each plan as plan::to_json has it.
std::string stages_json(const std::string& program, const std::vector<StagePlan>& plans);

}  // namespace lanefold::verify
