// For tests on GPU-shaped targets: SIMD groups of 4 to 64 lanes, one or several of them to a row, run by the lane
// machine.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/cases.h"
#include "plan/plan.h"

namespace lanefold::testing {

inline plan::Request asking(const Trial& trial, std::uint32_t groups) {
  plan::Request request;
  request.rows = trial.rows();
  request.cols = trial.cols();
  request.order = ir::Order::canonical;
  if (groups != 0) request.simd_groups = groups;
  return request;
}

/// The lane machine as the target, with the plan.
inline verify::DeviceOptions machine_options(const target::Target& target, const plan::Plan& plan,
                                             std::uint64_t seed = 0) {
  verify::DeviceOptions options = on_device("lane-machine");
  options.target = target;
  options.plan = plan;
  options.seed = seed;
  return options;
}

/// Runs with 1, 2 and 4 SIMD groups to a row, and as the target's own cost basis plans it, on each target; a number
/// of groups that a row is too short for is left out. At least one plan runs. Bytes equal the exact meaning on all,
/// and `look` judges them.
template <class Look>
void on_gpu_shapes(Trial& trial, const std::vector<std::string>& targets, Look&& look) {
  const std::vector<Bytes> exact = trial.exact();
  for (const std::string& name : targets) {
    const target::Target target = *target::find(name);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const std::uint32_t groups : {0u, 1u, 2u, 4u}) {
      const auto plan = plan::choose(trial.program(), target, asking(trial, groups));
      if (!plan.ok()) {
        ASSERT_NE(groups, 0u) << name << ": " << plan.error().text();
        continue;
      }
      if (!seen.insert({plan->simd_groups_per_row, plan->rows_per_threadgroup}).second) continue;
      SCOPED_TRACE(name + ", " + std::to_string(plan->simd_groups_per_row) + " SIMD groups to a row");
      const Status status = trial.run(machine_options(target, *plan, groups + 1));
      ASSERT_TRUE(status.ok()) << status.error().text();
      ASSERT_EQ(difference(trial.program(), trial.output_bytes(), exact), "");
      look();
    }
  }
}

inline const std::vector<std::string> kWide = {"generic-32", "generic-64"};
inline const std::vector<std::string> kAll = {"generic-4",  "generic-8",   "generic-16", "generic-32",
                                              "generic-64", "metal-m1max", "cuda-sm90"};

}  // namespace lanefold::testing
