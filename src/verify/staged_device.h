// A program that folds along rows, on a device that folds along columns.
#pragma once

#include <memory>
#include <optional>

#include "ir/stages.h"
#include "verify/team.h"

namespace lanefold::verify {

/// What a stage is refused for, told to those who know the whole program.
Diagnostic in_stage(Diagnostic refused, const ir::Stage& stage);

/// Refuses a fold along rows of a matrix without rows or columns (no_columns); nothing for programs without such folds.
std::optional<Diagnostic> nothing_to_fold(const ir::Program& program, std::int64_t rows, std::int64_t cols);

/// The first stage's refusal of its program, the order or the sizes, which are those of the whole.
std::optional<Diagnostic> stages_refusal(const ir::Stages& stages, ir::Order order, std::int64_t rows,
                                         std::int64_t cols, const target::Target& target);

/// What the program, the order and the number of rows and columns alone rule out, in whatever stages it runs: before any memory
/// is filled for a call.
std::optional<Diagnostic> program_refusal(const ir::Program& program, ir::Order order, std::int64_t rows,
                                          std::int64_t cols, const target::Target& target);

/// plan_for_other_program: a plan is given for a program that runs in stages.
Diagnostic plan_of_stages(const ir::Program& program);

/// Runs the stages of the program (ir::split_stages) one after the other, on the threads of the team, or threads of their own
/// that they share. What they hand on lies in memory of each call. The plan that it tells is that of the stage that folds along rows.
Result<std::unique_ptr<Device>> open_staged(ir::Program program, const DeviceOptions& options,
                                            std::shared_ptr<runtime::Executor> team);

}  // namespace lanefold::verify
