#include "lanefold/lanefold.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/arguments.h"
#include "api/failure.h"
#include "driver/call_check.h"
#include "driver/kernel_name.h"
#include "driver/pipeline.h"
#include "driver/version.h"
#include "ir/stages.h"
#include "kernels/registry.h"
#include "lane/module.h"
#include "legality/legality.h"
#include "plan/describe.h"
#include "plan/plan.h"
#include "verify/check.h"
#include "verify/device.h"
#include "verify/standard_inputs.h"

namespace lanefold {
namespace {

using api::fail;
using api::value_or_fail;

constexpr unsigned kMostThreads = 1024;

ir::Order internal_order(Order order) {
  switch (order) {
    case Order::canonical: return ir::Order::canonical;
    case Order::serial: return ir::Order::serial;
    case Order::free: return ir::Order::free;
  }
  fail({Code::unknown_order, fmt::format("{} is no fold order", static_cast<int>(order)), "use one of lanefold::Order",
        "order"});
}

bool has_cpu() {
  const std::vector<verify::DeviceFact> facts = verify::devices();
  return std::any_of(facts.begin(), facts.end(), [](const auto& fact) { return fact.name == "cpu" && fact.available; });
}

Device chosen(Device device) {
  switch (device) {
    case Device::automatic: return has_cpu() ? Device::cpu : Device::lane_machine;
    case Device::cpu:
      if (!has_cpu())
        fail({Code::device_missing, "there is no device cpu in this build, which has no JIT",
              "use Device::automatic, or build Lanefold with -DLANEFOLD_JIT=ON", "device"});
      return device;
    case Device::lane_machine: return device;
  }
  fail({Code::unknown_device, fmt::format("{} is no device", static_cast<int>(device)), "use one of lanefold::Device",
        "device"});
}

verify::DeviceOptions device_options(const Options& options) {
  if (options.threads > kMostThreads)
    fail({Code::number_invalid, fmt::format("{} threads are asked for", options.threads),
          fmt::format("use 1 to {}, or 0 for one per processor", kMostThreads), "threads"});
  verify::DeviceOptions result;
  result.device = chosen(options.device) == Device::cpu ? "cpu" : "lane-machine";
  result.order = internal_order(options.order);
  result.threads = options.threads;
  result.disk_cache = options.disk_cache;
  return result;
}

Port port(const std::string& name, ElementType type, const ir::Kind& kind) {
  Port result = {.name = name, .type = static_cast<Type>(type), .block = kind.block};
  switch (kind.tag) {
    case ir::Kind::Tag::row: result.kind = Kind::row; break;
    case ir::Kind::Tag::column: result.kind = Kind::column; break;
    case ir::Kind::Tag::block: result.kind = Kind::block; break;
    case ir::Kind::Tag::element:
    case ir::Kind::Tag::uniform: break;  // no input or output is uniform
  }
  return result;
}

}  // namespace

bool CheckReport::ok() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck& output) { return output.wrong == 0; });
}

struct Kernel::Implementation {
  Implementation(ir::Program the_program, verify::Tolerance the_tolerance, const Options& the_options)
      : program(std::move(the_program)),
        tolerance(the_tolerance),
        options(device_options(the_options)),
        device(value_or_fail(verify::open(program, options))),
        defaults(verify::default_parameters(program)) {
    for (const ir::Input& input : program.inputs) inputs.push_back(port(input.name, input.storage, input.kind));
    for (const ir::Store& store : program.stores) outputs.push_back(port(store.name, store.storage, store.kind));
    for (std::size_t i = 0; i < defaults.size(); ++i) parameters.push_back({program.parameters[i].name, defaults[i]});
  }

  plan::Request request(std::int64_t rows, std::int64_t cols) const {
    plan::Request result;
    result.rows = rows;
    result.cols = cols;
    result.order = options.order;
    return result;
  }

  ir::Program program;
  verify::Tolerance tolerance;
  verify::DeviceOptions options;
  std::unique_ptr<verify::Device> device;
  std::vector<float> defaults;
  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
};

namespace {

/// A call with the views that it points to.
class BoundCall {
 public:
  BoundCall(const ir::Program& program, std::span<const float> defaults, std::span<const ConstMatrix> inputs,
            std::span<const Matrix> outputs, std::int64_t rows, std::int64_t cols, std::span<const float> parameters) {
    if (rows < 0 || cols < 0)
      fail({Code::call_shape_mismatch, fmt::format("a call of {} rows and {} columns", rows, cols),
            "sizes are not negative", program.name});
    api::fill_views(program, inputs, outputs, inputs_, outputs_);
    call_ = {.inputs = inputs_.span(),
             .outputs = outputs_.span(),
             .parameters = parameters.empty() ? defaults : parameters,
             .rows = rows,
             .cols = cols};
  }
  BoundCall(const BoundCall&) = delete;
  BoundCall& operator=(const BoundCall&) = delete;

  const runtime::Call& call() const { return call_; }

 private:
  api::ViewList inputs_, outputs_;
  runtime::Call call_;
};

}  // namespace

Kernel::Kernel(std::shared_ptr<const Implementation> implementation) : implementation_(std::move(implementation)) {}

Kernel Kernel::compile_operator(std::string_view name, Type storage, const Options& options) {
  const kernels::Operator* op = value_or_fail(kernels::find_or_explain(name));
  ir::Program program = value_or_fail(kernels::build(*op, api::element_type(storage), options.absent));
  const verify::Tolerance tolerance = {
      .absolute = op->absolute_tolerance, .relative = op->relative_tolerance, .code = op->code_tolerance};
  return Kernel(std::make_shared<const Implementation>(std::move(program), tolerance, options));
}

Kernel Kernel::compile_program(std::string_view text, const Options& options) {
  ir::Program program = value_or_fail(ir::parse(text));
  program = value_or_fail(ir::specialise(program, {.absent = options.absent}));
  // The tolerances of a program that comes without any.
  const driver::ResolvedProgram usual;
  const verify::Tolerance tolerance = {
      .absolute = usual.absolute_tolerance, .relative = usual.relative_tolerance, .code = usual.code_tolerance};
  return Kernel(std::make_shared<const Implementation>(std::move(program), tolerance, options));
}

const std::string& Kernel::name() const { return implementation_->program.name; }
const std::vector<Port>& Kernel::inputs() const { return implementation_->inputs; }
const std::vector<Port>& Kernel::outputs() const { return implementation_->outputs; }
const std::vector<Parameter>& Kernel::parameters() const { return implementation_->parameters; }
Device Kernel::device() const { return implementation_->options.device == "cpu" ? Device::cpu : Device::lane_machine; }

void Kernel::run(const std::vector<NamedInput>& inputs, const std::vector<NamedOutput>& outputs,
                 const std::vector<NamedParameter>& parameters) const {
  const api::Arguments arguments = api::arrange(implementation_->program, inputs, outputs, parameters);
  run(arguments.inputs, arguments.outputs, arguments.rows, arguments.cols, arguments.parameters);
}

void Kernel::run(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                 std::int64_t cols, std::span<const float> parameters) const {
  const Implementation& self = *implementation_;
  const BoundCall bound(self.program, self.defaults, inputs, outputs, rows, cols, parameters);
  if (const Status status = self.device->run(bound.call()); !status) fail(status.error());
}

void Kernel::prepare(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                     std::int64_t cols) const {
  const Implementation& self = *implementation_;
  const BoundCall bound(self.program, self.defaults, inputs, outputs, rows, cols, {});
  if (const Status status = driver::check_call(self.program, bound.call()); !status) fail(status.error());
  if (rows == 0) return;
  if (const auto plan = self.device->plan(bound.call()); !plan) fail(plan.error());
}

CheckReport Kernel::check(std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs, std::int64_t rows,
                          std::int64_t cols, std::span<const float> parameters) const {
  const Implementation& self = *implementation_;
  const BoundCall bound(self.program, self.defaults, inputs, outputs, rows, cols, parameters);
  const runtime::Call& call = bound.call();
  if (const Status status = driver::check_call(self.program, call); !status) fail(status.error());
  const auto refused = legality::program_violation(self.program, self.options.order, cols, self.options.target);
  if (refused && !ir::folds_rows(self.program)) fail(*refused);
  const verify::CheckReport found = verify::compare(self.program,
                                                    {.inputs = {call.inputs.begin(), call.inputs.end()},
                                                     .parameters = {call.parameters.begin(), call.parameters.end()},
                                                     .rows = rows,
                                                     .cols = cols},
                                                    {call.outputs.begin(), call.outputs.end()}, self.tolerance);
  CheckReport report;
  for (const verify::OutputReport& output : found.outputs)
    report.outputs.push_back({.name = output.name,
                              .elements = output.elements,
                              .wrong = output.wrong,
                              .max_error = output.max_error,
                              .first_row = output.first_row,
                              .first_column = output.first_column,
                              .got = output.got,
                              .expected = output.expected});
  return report;
}

std::string Kernel::plan_line(std::int64_t rows, std::int64_t cols) const {
  const Implementation& self = *implementation_;
  return plan::plan_line(value_or_fail(plan::choose(self.program, self.options.target, self.request(rows, cols))));
}

std::string Kernel::plan_json(std::int64_t rows, std::int64_t cols) const {
  const Implementation& self = *implementation_;
  return plan::to_json(value_or_fail(plan::choose(self.program, self.options.target, self.request(rows, cols))));
}

std::string Kernel::lane_text(std::int64_t rows, std::int64_t cols) const {
  const Implementation& self = *implementation_;
  return lane::print(
      value_or_fail(driver::lower_program(self.program, self.options.target, self.request(rows, cols))).module);
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const kernels::Operator& op : kernels::operators()) names.emplace_back(op.name);
  return names;
}

std::string_view version() { return driver::kVersion; }

}  // namespace lanefold
