// A program that folds along rows, on a device that folds along columns.
#pragma once

#include <memory>
#include <optional>

#include "verify/team.h"

namespace lanefold::verify {

/// Refuses a fold along rows of a matrix without rows or columns (no_columns); nothing for programs without such folds.
std::optional<Diagnostic> nothing_to_fold(const ir::Program& program, std::int64_t rows, std::int64_t cols);

/// Runs the stages of the program (ir::split_stages) one after the other, on the threads of the team, or threads of their own
/// that they share. What they hand on lies in memory of each call. The plan that it tells is that of the stage that folds along rows.
Result<std::unique_ptr<Device>> open_staged(ir::Program program, const DeviceOptions& options,
                                            std::shared_ptr<runtime::Executor> team);

}  // namespace lanefold::verify
