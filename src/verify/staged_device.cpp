#include "verify/staged_device.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "ir/stages.h"
#include "legality/legality.h"
#include "verify/staged_program.h"

namespace lanefold::verify {
namespace {

/// Memory of what the stages of one call hand on.
class Between {
 public:
  Between(const StagedProgram& staged, std::int64_t rows, std::int64_t cols)
      : memory_(static_cast<std::byte*>(::operator new(staged.between_bytes(rows, cols), kAlignment))),
        views_(staged.between(rows, cols, memory_.get())) {}
  const std::vector<View>& views() const { return views_; }

 private:
  static constexpr std::align_val_t kAlignment{StagedProgram::kAlignment};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<View> views_;
};

class Staged final : public Device {
 public:
  Staged(ir::Program program, const DeviceOptions& options)
      : staged_(std::move(program), options.order, options.target) {}

  Status open_stages(const DeviceOptions& options, const std::shared_ptr<runtime::Executor>& team) {
    for (const ir::Stage& stage : staged_.stages()) {
      LANEFOLD_TRY(devices_.emplace_back(), open(stage.program, options, team));
    }
    return success();
  }

  Status run(const runtime::Call& call) override {
    LANEFOLD_CHECK(staged_.check(call));
    const Between between(staged_, call.rows, call.cols);
    for (std::size_t s = 0; s < devices_.size(); ++s) {
      const StageCall stage(staged_.stages()[s], call, between.views());
      if (const Status ran = devices_[s]->run(stage.call); !ran) return in_stage(ran.error(), staged_.stages()[s]);
    }
    return success();
  }

  Result<plan::Plan> plan(const runtime::Call& call) override {
    LANEFOLD_CHECK(staged_.check(call));
    const Between between(staged_, call.rows, call.cols);
    Result<plan::Plan> told = plan::Plan{};
    for (std::size_t s = 0; s < devices_.size(); ++s) {
      const StageCall stage(staged_.stages()[s], call, between.views());
      Result<plan::Plan> own = devices_[s]->plan(stage.call);
      if (!own) return in_stage(own.error(), staged_.stages()[s]);
      if (staged_.stages()[s].transposed) told = std::move(own);
    }
    return told;
  }

 private:
  StagedProgram staged_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace

Diagnostic in_stage(Diagnostic refused, const ir::Stage& stage) {
  if (stage.transposed) refused.message += " (in its stage along rows, where rows and columns have changed places)";
  return refused;
}

std::optional<Diagnostic> stages_refusal(const ir::Stages& stages, ir::Order order, std::int64_t rows,
                                         std::int64_t cols, const target::Target& target) {
  for (const ir::Stage& stage : stages.stages)
    if (auto refused = legality::program_violation(stage.program, order, stage.transposed ? rows : cols, target))
      return in_stage(std::move(*refused), stage);
  return std::nullopt;
}

std::optional<Diagnostic> program_refusal(const ir::Program& program, ir::Order order, std::int64_t rows,
                                          std::int64_t cols, const target::Target& target) {
  if (!ir::needs_stages(program)) return legality::program_violation(program, order, cols, target);
  if (auto refused = nothing_to_fold(program, rows, cols)) return refused;
  return stages_refusal(ir::split_stages(program), order, rows, cols, target);
}

Diagnostic plan_of_stages(const ir::Program& program) {
  return {Code::plan_for_other_program,
          fmt::format("{} works along rows, so that it has a plan for each stage and none of its own", program.name),
          "leave the plan out", "plan"};
}

std::optional<Diagnostic> nothing_to_fold(const ir::Program& program, std::int64_t rows, std::int64_t cols) {
  if (!ir::needs_stages(program) || (rows > 0 && cols > 0)) return std::nullopt;
  return Diagnostic{Code::no_columns,
                    fmt::format("{} works along rows, and there are {} rows of {} columns", program.name, rows, cols),
                    "give it one row and one column or more", program.name};
}

Result<std::unique_ptr<Device>> open_staged(ir::Program program, const DeviceOptions& options,
                                            std::shared_ptr<runtime::Executor> team) {
  if (options.plan) return plan_of_stages(program);
  auto device = std::make_unique<Staged>(std::move(program), options);
  if (!team && options.device == "cpu") team = shared_team(options.threads);
  LANEFOLD_CHECK(device->open_stages(options, team));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace lanefold::verify
