#include "verify/staged_plans.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "driver/pipeline.h"
#include "ir/stages.h"
#include "plan/analysis.h"
#include "plan/describe.h"
#include "plan/layout.h"
#include "verify/staged_device.h"

namespace lanefold::verify {
namespace {

/// Whether the CPU device takes this stage's rows side by side where the caller's matrices have no gaps.
bool lies_side_by_side(const ir::Stage& stage, const plan::Request& request) {
  const auto is_element = [](const auto& port) { return port.kind.tag == ir::Kind::Tag::element; };
  const ir::Program& program = stage.program;
  return stage.transposed && request.rows >= driver::kRowsSideBySide && request.cols > 1 &&
         request.order.value_or(ir::Order::canonical) != ir::Order::free && !request.layout && !request.stripe &&
         !request.simd_groups && !request.rows_per_threadgroup && !request.group_threads &&
         plan::analyse(program).widest_block <= 1 &&
         (std::any_of(program.inputs.begin(), program.inputs.end(), is_element) ||
          std::any_of(program.stores.begin(), program.stores.end(), is_element));
}

}  // namespace

Result<std::vector<StagePlan>> plan_stages(const ir::Program& program, const target::Target& target,
                                           const plan::Request& request, bool runs) {
  if (auto refused = nothing_to_fold(program, request.rows, request.cols)) return *refused;
  const ir::Stages stages = ir::split_stages(program);
  std::vector<StagePlan> plans;
  for (const ir::Stage& stage : stages.stages) {
    plan::Request own = request;
    target::Target aimed = target;
    if (stage.transposed) {
      std::swap(own.rows, own.cols);
      own.alignment = plan::dense_alignment(own.cols);
    }
    if (runs && lies_side_by_side(stage, own))
      driver::lay_side_by_side(own.order.value_or(ir::Order::canonical), aimed, own);
    Result<plan::Plan> plan = plan::choose(stage.program, aimed, own);
    if (!plan) return in_stage(plan.error(), stage);
    plans.push_back({stage.title, stage.transposed, std::move(plan).value()});
  }
  return plans;
}

std::string stage_title(const std::vector<StagePlan>& plans, std::size_t stage) {
  return fmt::format("stage {} of {}, {}", stage + 1, plans.size(), plans[stage].title);
}

std::string stage_lines(const std::vector<StagePlan>& plans) {
  std::string text;
  for (std::size_t s = 0; s < plans.size(); ++s)
    text += fmt::format("{}{}: {}", s == 0 ? "" : "\n", stage_title(plans, s), plan::plan_line(plans[s].plan));
  return text;
}

std::string stages_json(const std::string& program, const std::vector<StagePlan>& plans) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const StagePlan& stage : plans)
    stages.push_back({{"stage", stage.title},
                      {"transposed", stage.transposed},
                      {"plan", nlohmann::ordered_json::parse(plan::to_json(stage.plan))}});
  return nlohmann::ordered_json{{"program", program}, {"stages", stages}}.dump(2) + "\n";
}

}  // namespace lanefold::verify
