// A program that folds along rows, as programs that fold along columns alone and run one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace lanefold::ir {

/// Whether some fold runs along the rows.
bool folds_rows(const Program& program);

/// Whether the program folds along rows or has an output [cols], so that it runs in stages.
bool needs_stages(const Program& program);

/// What one input or output of a stage is: an input or output of the whole program, or a value that one stage leaves for a later one.
struct StagePort {
  enum class Of : std::uint8_t { input, output, between };
  Of of = Of::input;
  std::uint32_t index = 0;
};

/// One program. A transposed one sees the matrices with rows and columns exchanged, so that its folds along columns run along
/// the rows of the whole.
struct Stage {
  Program program;    ///< it has the name of the whole
  std::string title;  ///< "of rows", "along rows" or "with columns"
  bool transposed = false;
  std::vector<StagePort> inputs;   ///< one per Program::inputs
  std::vector<StagePort> outputs;  ///< one per Program::stores
};

/// A value that one stage leaves for another: one element per row or per column of the whole program.
struct Between {
  ElementType type = ElementType::f32;
  Kind kind;
};

struct Stages {
  std::vector<Stage> stages;  ///< in the order in which they run
  std::vector<Between> between;
};

/// At most three stages: what the folds along rows need of each row, those folds, and what needs their results. A value is
/// computed by the same operations as in the whole program, so every bit is the same. The program has been verified.
Stages split_stages(const Program& program);

/// For each value whether it depends on a fold along rows.
std::vector<bool> after_row_axis(const Program& program);

/// The place of the first thing that keeps a fold along rows from being computed so, with what it is; verify() refuses it.
struct StageFault {
  Place place;
  std::string what;
};
std::optional<StageFault> stage_fault(const Program& program);

}  // namespace lanefold::ir
