#include "verify/instance.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/pipeline.h"
#include "ir/stages.h"
#include "legality/legality.h"
#include "plan/layout.h"
#include "verify/staged_device.h"
#include "verify/standard_inputs.h"

namespace lanefold::verify {
namespace {

constexpr std::uint32_t kPerLaneThreads = 256;

/// The lane machine keeps a list of them.
constexpr std::int64_t kMostThreadgroups = std::int64_t{1} << 26;

Result<Instance> finish(Instance instance) {
  if (instance.module.kernels.empty())
    return Diagnostic{Code::lane_kernel_limits, fmt::format("the module {} has no kernel", instance.module.name),
                      "write one", instance.module.name};
  for (const lane::Kernel& kernel : instance.module.kernels) {
    const std::int64_t threadgroups = lane::launch_threadgroups(kernel, instance.rows, instance.cols);
    if (threadgroups > kMostThreadgroups)
      return Diagnostic{Code::lane_kernel_limits, fmt::format("a launch of {} threadgroups", threadgroups),
                        fmt::format("choose sizes that need at most {}", kMostThreadgroups), kernel.name};
  }
  LANEFOLD_TRY(instance.buffers, module_buffers(instance.module, instance.rows, instance.cols));
  return instance;
}

Result<Instance> in_stages(ir::Program program, const InstanceRequest& request) {
  if (request.options.plan) return plan_of_stages(program);
  if (auto refused = nothing_to_fold(program, request.rows, request.cols)) return *refused;
  Instance instance;
  LANEFOLD_TRY(instance.buffers, program_buffers(program, request.rows, request.cols));
  instance.name = program.name;
  instance.module.name = program.name;
  instance.order = request.options.order;
  instance.rows = request.rows;
  instance.cols = request.cols;
  instance.parameters = default_parameters(program);
  instance.program = std::move(program);
  return instance;
}

Result<Instance> per_lane(ir::Program program, const InstanceRequest& request) {
  Instance instance;
  instance.order = ir::Order::serial;
  if (auto refused = legality::program_violation(program, instance.order, request.cols, request.options.target))
    return *refused;
  const std::uint32_t width = request.options.target.simd_width;
  LANEFOLD_TRY(instance.module, lower::lower_per_lane(program, width, std::max(width, kPerLaneThreads)));
  if (const std::vector<Diagnostic> faults = lane::verify(instance.module); !faults.empty())
    internal_error("lowering made a faulty lane module: " + faults.front().text());
  instance.rows = request.rows;
  instance.cols = request.cols;
  instance.parameters = default_parameters(program);
  instance.program = std::move(program);
  return finish(std::move(instance));
}

Result<Instance> hand_written(const driver::KernelName& name, const kernels::HandWritten& op,
                              const InstanceRequest& request) {
  Instance instance;
  LANEFOLD_TRY(const kernels::FormFact* form, kernels::find_form(op, name.form));
  instance.right = form->right;
  LANEFOLD_TRY(instance.sizes, kernels::complete_sizes(op, request.sizes));
  LANEFOLD_TRY(instance.module, kernels::build_hand_written(op, name.form, instance.sizes));
  instance.hand_written = &op;
  instance.tolerance = {op.absolute_tolerance, op.relative_tolerance, 0};
  return finish(std::move(instance));
}

/// Who misspells a name may mean a hand-written module.
Diagnostic with_modules(Diagnostic refused, const driver::KernelName& name) {
  if (refused.code != Code::unknown_operator) return refused;
  std::vector<std::string_view> modules;
  for (const kernels::HandWritten& op : kernels::hand_written()) modules.push_back(op.name);
  refused.hint += fmt::format("; and the lane modules {}", fmt::join(modules, ", "));
  if (refused.place.empty()) refused.place = name.text;
  return refused;
}

Result<Instance> lane_file(const driver::KernelName& name, const InstanceRequest& request) {
  Instance instance;
  LANEFOLD_TRY(instance.module, driver::read_lane_structure(name));
  instance.rows = request.rows;
  instance.cols = request.cols;
  for (const lane::Kernel& kernel : instance.module.kernels)
    for (const lane::Argument& argument : kernel.arguments)
      if (argument.role == lane::Role::parameter)
        instance.parameters.resize(std::max<std::size_t>(instance.parameters.size(), argument.index + 1), 1.0f);
  return finish(std::move(instance));
}

}  // namespace

const std::vector<std::string>& operator_forms() {
  static const std::vector<std::string> forms = {"planned", "serial", "per_lane"};
  return forms;
}

bool names_lane_module(const driver::KernelName& name) {
  using Kind = driver::KernelName::Kind;
  return name.kind == Kind::lane_file ||
         (name.kind == Kind::op && (kernels::find_hand_written(name.name) != nullptr || name.form == "per_lane"));
}

Result<Instance> make_instance(ir::Program program, const InstanceRequest& request) {
  if (request.in_stages && ir::needs_stages(program)) return in_stages(std::move(program), request);
  Instance instance;
  if (auto refused = legality::program_violation(program, request.options.order, request.cols, request.options.target))
    return *refused;
  plan::Request plan_request;
  plan_request.rows = request.rows;
  plan_request.cols = request.cols;
  plan_request.alignment = plan::dense_alignment(request.cols);
  plan_request.order = request.options.order;
  plan_request.cost_basis = request.options.cost_basis;
  plan_request.layout = request.options.layout;
  plan_request.stripe = request.options.stripe;
  LANEFOLD_TRY(driver::Lowered lowered,
               driver::lower_program(program, request.options.target, plan_request, request.options.plan));
  instance.name = program.name;
  instance.module = std::move(lowered.module);
  instance.order = lowered.plan.order;
  instance.plan = std::move(lowered.plan);
  instance.rows = request.rows;
  instance.cols = request.cols;
  instance.parameters = default_parameters(program);
  instance.program = std::move(program);
  return finish(std::move(instance));
}

Result<Instance> make_instance(const driver::KernelName& name, const InstanceRequest& request) {
  using Kind = driver::KernelName::Kind;
  const auto named = [&](Result<Instance> instance) {
    if (instance) instance->name = name.text;
    return instance;
  };
  if (name.kind == Kind::lane_file) return named(lane_file(name, request));
  if (name.kind == Kind::op) {
    if (const kernels::HandWritten* op = kernels::find_hand_written(name.name))
      return named(hand_written(name, *op, request));
  }
  driver::KernelName plain = name;
  plain.form.clear();
  Result<driver::ResolvedProgram> found = driver::resolve_program(plain, request.build);
  if (!found) return with_modules(found.error(), name);
  driver::ResolvedProgram resolved = std::move(found).value();
  if (!name.form.empty() &&
      std::find(operator_forms().begin(), operator_forms().end(), name.form) == operator_forms().end())
    return Diagnostic{Code::unknown_form, fmt::format("{} has no form \"{}\"", name.name, name.form),
                      fmt::format("its forms are: {}", fmt::join(operator_forms(), ", ")), name.text};
  const Tolerance tolerance{resolved.absolute_tolerance, resolved.relative_tolerance, resolved.code_tolerance};
  InstanceRequest changed = request;
  if (name.form == "serial") changed.options.order = ir::Order::serial;
  if (resolved.plan) {
    changed.options.plan = resolved.plan;
    changed.options.order = resolved.plan->order;
  }
  Result<Instance> instance = name.form == "per_lane" ? per_lane(std::move(resolved.program), changed)
                                                      : make_instance(std::move(resolved.program), changed);
  if (instance) {
    instance->tolerance = tolerance;
    instance->build = request.build;
  }
  return named(std::move(instance));
}

}  // namespace lanefold::verify
