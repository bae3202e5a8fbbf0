// The map of the house: row program → legality → plan → lane module → machine code, straight calls, each one timed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/program.h"
#include "lane/module.h"
#include "lower/lower.h"
#include "plan/plan.h"
#include "target/target.h"

namespace lanefold::driver {

/// Rows that one threadgroup works on side by side where matrices are stored column by column: two cache lines of f32.
inline constexpr std::uint32_t kRowsSideBySide = 32;
/// Makes a target and a request those of such a kernel: each lane takes a row of its own.
void lay_side_by_side(ir::Order order, target::Target& target, plan::Request& request);

/// Wall time of one phase.
struct PhaseTime {
  std::string phase;
  double microseconds = 0;
};

/// A program on its way down, with what each phase made.
struct Lowered {
  plan::Plan plan;
  lane::Module module;
  std::vector<PhaseTime> times;
};

/// Plans (unless `given` is a plan already) and lowers; the lane verifier runs after lowering.
Result<Lowered> lower_program(const ir::Program& program, const target::Target& target, const plan::Request& request,
                              const std::optional<plan::Plan>& given = std::nullopt, const lower::Access& access = {});

/// Barrier sites of a kernel.
std::uint32_t barrier_sites(const lane::Kernel& kernel);

}  // namespace lanefold::driver
