#include "verify/staged_device.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "driver/call_check.h"
#include "ir/names.h"
#include "ir/stages.h"
#include "legality/legality.h"
#include "legality/overlap.h"

namespace lanefold::verify {
namespace {

View transposed(View view) {
  std::swap(view.rows, view.cols);
  std::swap(view.row_stride, view.column_stride);
  return view;
}

std::optional<Diagnostic> stages_refusal(const ir::Stages& stages, ir::Order order, std::int64_t rows,
                                         std::int64_t cols, const target::Target& target) {
  for (const ir::Stage& stage : stages.stages)
    if (auto refused = legality::program_violation(stage.program, order, stage.transposed ? rows : cols, target))
      return in_stage(std::move(*refused), stage);
  return std::nullopt;
}

/// Memory of what the stages of one call hand on.
class Between {
 public:
  Between(const std::vector<ir::Between>& values, std::int64_t rows, std::int64_t cols) {
    std::size_t bytes = 0;
    std::vector<std::size_t> begins;
    for (const ir::Between& value : values) {
      const driver::Shape shape = driver::expected_shape(value.kind, rows, cols);
      begins.push_back(bytes);
      bytes += static_cast<std::size_t>(shape.rows * shape.cols) * element_bytes(value.type);
      bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    memory_.reset(static_cast<std::byte*>(::operator new(bytes + 1, std::align_val_t{kAlignment})));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const driver::Shape shape = driver::expected_shape(values[i].kind, rows, cols);
      const bool per_row = values[i].kind.tag == ir::Kind::Tag::row;
      views_.push_back({.data = memory_.get() + begins[i],
                        .type = values[i].type,
                        .rows = shape.rows,
                        .cols = shape.cols,
                        .row_stride = per_row ? 1 : 0,
                        .column_stride = per_row ? 0 : 1});
    }
  }
  const View& operator[](std::size_t i) const { return views_[i]; }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<View> views_;
};

class Staged final : public Device {
 public:
  Staged(ir::Program program, ir::Stages stages, const DeviceOptions& options)
      : program_(std::move(program)), stages_(std::move(stages)), order_(options.order), target_(options.target) {}

  Status open_stages(const DeviceOptions& options, const std::shared_ptr<runtime::Executor>& team) {
    for (const ir::Stage& stage : stages_.stages) {
      LANEFOLD_TRY(devices_.emplace_back(), open(stage.program, options, team));
    }
    return success();
  }

  Status run(const runtime::Call& call) override {
    LANEFOLD_CHECK(check(call));
    const Between between(stages_.between, call.rows, call.cols);
    for (std::size_t s = 0; s < devices_.size(); ++s) {
      const StageCall stage(stages_.stages[s], call, between);
      if (const Status ran = devices_[s]->run(stage.call); !ran) return in_stage(ran.error(), stages_.stages[s]);
    }
    return success();
  }

  Result<plan::Plan> plan(const runtime::Call& call) override {
    LANEFOLD_CHECK(check(call));
    const Between between(stages_.between, call.rows, call.cols);
    Result<plan::Plan> told = plan::Plan{};
    for (std::size_t s = 0; s < devices_.size(); ++s) {
      const StageCall stage(stages_.stages[s], call, between);
      Result<plan::Plan> own = devices_[s]->plan(stage.call);
      if (!own) return in_stage(own.error(), stages_.stages[s]);
      if (stages_.stages[s].transposed) told = std::move(own);
    }
    return told;
  }

 private:
  /// A stage's share of a call.
  struct StageCall {
    StageCall(const ir::Stage& stage, const runtime::Call& whole, const Between& between) {
      const auto pick = [&](const ir::StagePort& port) {
        View view = port.of == ir::StagePort::Of::between  ? between[port.index]
                    : port.of == ir::StagePort::Of::output ? whole.outputs[port.index]
                                                           : whole.inputs[port.index];
        return stage.transposed ? transposed(view) : view;
      };
      for (const ir::StagePort& port : stage.inputs) inputs.push_back(pick(port));
      for (const ir::StagePort& port : stage.outputs) outputs.push_back(pick(port));
      call = {.inputs = inputs,
              .outputs = outputs,
              .parameters = whole.parameters,
              .rows = stage.transposed ? whole.cols : whole.rows,
              .cols = stage.transposed ? whole.rows : whole.cols};
    }
    std::vector<View> inputs, outputs;
    runtime::Call call;
  };

  Status check(const runtime::Call& call) const {
    LANEFOLD_CHECK(driver::check_call(program_, call));
    if (auto refused = nothing_to_fold(program_, call.rows, call.cols)) return *refused;
    // Nothing is written by the first stage where a later one would be refused.
    if (auto refused = stages_refusal(stages_, order_, call.rows, call.cols, target_)) return *refused;
    return check_replaced(call);
  }

  /// An output in the place of an input is written by its own stage; no later one may still read the input.
  Status check_replaced(const runtime::Call& call) const {
    using Of = ir::StagePort::Of;
    for (std::size_t s = 0; s < stages_.stages.size(); ++s)
      for (const ir::StagePort& written : stages_.stages[s].outputs)
        for (std::size_t later = s + 1; later < stages_.stages.size() && written.of == Of::output; ++later)
          for (const ir::StagePort& read : stages_.stages[later].inputs) {
            if (read.of != Of::input || !legality::may_overlap(call.outputs[written.index], call.inputs[read.index]))
              continue;
            const ir::Store& store = program_.stores[written.index];
            const ir::Input& input = program_.inputs[read.index];
            const std::string output = ir::part_name(store.name, store.part);
            return Diagnostic{Code::output_overlaps_reread_input,
                              fmt::format("output {} replaces input {}, which a later stage of {} still reads", output,
                                          ir::part_name(input.name, input.part), program_.name),
                              "give the output a buffer of its own", "output " + output};
          }
    return success();
  }

  ir::Program program_;
  ir::Stages stages_;
  ir::Order order_;
  target::Target target_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace

Diagnostic in_stage(Diagnostic refused, const ir::Stage& stage) {
  if (stage.transposed) refused.message += " (in its stage along rows, where rows and columns have changed places)";
  return refused;
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
  ir::Stages stages = ir::split_stages(program);
  auto device = std::make_unique<Staged>(std::move(program), std::move(stages), options);
  if (!team && options.device == "cpu") team = shared_team(options.threads);
  LANEFOLD_CHECK(device->open_stages(options, team));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace lanefold::verify
