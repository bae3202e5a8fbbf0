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
