#include "cli/run_module.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/check_text.h"
#include "cli/command_line.h"
#include "cli/module_device.h"
#include "cli/parameters.h"
#include "cli/report.h"
#include "cli/trace_text.h"
#include "cli/values.h"
#include "tensor/tensor_file.h"
#include "verify/module_check.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;
using verify::Instance;
using verify::ModuleBuffer;
using verify::ModuleMemory;

constexpr std::int64_t kTraceSteps = 200;
constexpr std::int64_t kMostTraceSteps = 1'000'000;

/// The words of the command, read before any file of numbers is.
struct Plan {
  Assignments inputs, outputs;
  std::optional<verify::Pattern> fill;  ///< for inputs that no file gives
  std::uint64_t seed = 1;
  std::size_t trace_steps = 0;  ///< 0: no trace
  verify::DeviceOptions device;
};

/// The buffers with which a caller has to do, by their names.
std::vector<std::string> names_of(const Instance& instance, bool inputs) {
  std::vector<std::string> names;
  for (const ModuleBuffer& buffer : instance.buffers)
    if (buffer.role == lane::Role::inout || (buffer.role == lane::Role::input) == inputs) names.push_back(buffer.name);
  return names;
}

Status check_names(const Instance& instance, const Assignments& given, bool inputs) {
  const std::vector<std::string> known = names_of(instance, inputs);
  for (const auto& [name, file] : given)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Diagnostic{inputs ? Code::unknown_input : Code::unknown_output,
                        fmt::format("{} has no {} \"{}\"", instance.name, inputs ? "input" : "output", name),
                        fmt::format("its {}s are: {}", inputs ? "input" : "output", fmt::join(known, ", ")),
                        fmt::format("{} {}={}", inputs ? "--in" : "--out", name, file)};
  return success();
}

/// Parameters of a module that no program stands behind: --set by the name of an argument.
Status set_arguments(Instance& instance, const std::vector<std::string>& texts) {
  LANEFOLD_TRY(const Assignments given, parse_assignments("--set", texts));
  std::vector<std::pair<std::string, std::size_t>> known;
  for (const lane::Kernel& kernel : instance.module.kernels)
    for (const lane::Argument& argument : kernel.arguments)
      if (argument.role == lane::Role::parameter) known.emplace_back(argument.name, argument.index);
  for (const auto& [name, text] : given) {
    const std::string place = fmt::format("--set {}={}", name, text);
    const auto found =
        std::find_if(known.begin(), known.end(), [&name = name](const auto& entry) { return entry.first == name; });
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const auto& entry : known) names.push_back(entry.first);
      return Diagnostic{Code::unknown_parameter, fmt::format("{} has no parameter \"{}\"", instance.name, name),
                        names.empty() ? std::string("it has none: leave --set out")
                                      : fmt::format("its parameters are: {}", fmt::join(names, ", ")),
                        place};
    }
    LANEFOLD_TRY(instance.parameters[found->second], parse_real(place, text));
  }
  return success();
}

Result<Plan> plan_of(const RunSettings& settings, const driver::KernelName& name) {
  Plan plan;
  LANEFOLD_TRY(plan.inputs, parse_assignments("--in", settings.inputs));
  LANEFOLD_TRY(plan.outputs, parse_assignments("--out", settings.outputs));
  std::vector<std::string> specs;
  for (const auto& [output, file] : plan.outputs) specs.push_back(file);
  LANEFOLD_CHECK(tensor::check_output_specs(specs));
  if (!settings.fill.empty()) {
    LANEFOLD_TRY(plan.fill, parse_pattern("--fill", settings.fill));
  } else if (settings.trace && settings.inputs.empty()) {
    plan.fill = verify::Pattern::plain;
  }
  if (!settings.seed.empty()) {
    if (!plan.fill)
      return Diagnostic{Code::bad_arguments, "--seed chooses contents, and no pattern is asked for",
                        "give --fill PATTERN too, or leave --seed out", "--seed"};
    LANEFOLD_TRY(const std::int64_t seed, parse_count("--seed", settings.seed, 0, kMostSize));
    plan.seed = static_cast<std::uint64_t>(seed);
  }
  if (!settings.trace && !settings.trace_steps.empty())
    return Diagnostic{Code::bad_arguments, "--trace-steps is given without --trace", "give --trace too",
                      "--trace-steps"};
  if (settings.trace) {
    plan.trace_steps = kTraceSteps;
    if (!settings.trace_steps.empty()) {
      LANEFOLD_TRY(const std::int64_t steps, parse_count("--trace-steps", settings.trace_steps, 1, kMostTraceSteps));
      plan.trace_steps = static_cast<std::size_t>(steps);
    }
    if (!settings.device.device.empty() && settings.device.device != "lane-machine")
      return Diagnostic{
          Code::bad_arguments,
          fmt::format("--trace needs the lane machine, and --device {} is asked for", settings.device.device),
          "leave --device out", "--device"};
  }
  DeviceFlags device = settings.device;
  if (settings.trace) device.device = "lane-machine";
  LANEFOLD_TRY(plan.device, module_device(name, device));
  if (settings.check && sort_of(name) == Sort::lane_file)
    return Diagnostic{
        Code::option_not_for_kernel,
        fmt::format("--check has no meaning for {}: a module in a file says not what it should compute", name.text),
        "leave --check out; the lane machine checks how it runs", "--check"};
  return plan;
}

Status fill_from_file(const ModuleMemory& memory, std::size_t at, const std::string& file) {
  const ModuleBuffer& buffer = memory.buffers()[at];
  LANEFOLD_TRY(const tensor::Tensor tensor, tensor::read_tensor(file, buffer.type));
  if (tensor.element_count() != buffer.elements())
    return Diagnostic{
        Code::input_shape_mismatch,
        fmt::format("{} has shape {} and {}; the buffer has shape {}", buffer.name, tensor::shape_text(tensor.shape),
                    counted(tensor.element_count(), "element"), tensor::shape_text(buffer.shape)),
        fmt::format("give a file with that many elements for {}", buffer.name),
        fmt::format("--in {}={}", buffer.name, file)};
  std::vector<std::byte> storage;
  const std::span<const std::byte> bytes = tensor::contiguous_bytes(tensor, storage);
  if (!bytes.empty()) std::memcpy(memory.view(at).data, bytes.data(), bytes.size());
  return success();
}

Status fill(ModuleMemory& memory, const Instance& instance, const Plan& plan) {
  if (plan.fill) verify::fill_inputs(memory, instance, *plan.fill, plan.seed);
  for (std::size_t b = 0; b < memory.buffers().size(); ++b) {
    const ModuleBuffer& buffer = memory.buffers()[b];
    if (buffer.role == lane::Role::output) continue;
    const auto given = std::find_if(plan.inputs.begin(), plan.inputs.end(),
                                    [&](const auto& input) { return input.first == buffer.name; });
    if (given != plan.inputs.end()) {
      LANEFOLD_CHECK(fill_from_file(memory, b, given->second));
    } else if (!plan.fill) {
      return Diagnostic{Code::input_missing, fmt::format("{} needs the input {}", instance.name, buffer.name),
                        fmt::format("give it: --in {}=FILE.npy, or fill what is missing: --fill plain", buffer.name),
                        "--in"};
    }
  }
  return success();
}

Result<std::vector<tensor::Output>> written(const ModuleMemory& memory, const Assignments& files) {
  std::vector<tensor::Output> outputs;
  for (const auto& [name, file] : files) {
    const std::size_t at = *memory.find(name);
    const ModuleBuffer& buffer = memory.buffers()[at];
    LANEFOLD_CHECK(tensor::byte_count(buffer.shape, buffer.type));
    tensor::Tensor tensor = tensor::make_tensor(buffer.shape, buffer.type);
    const std::vector<std::byte> bytes = memory.bytes(at);
    if (!bytes.empty()) std::memcpy(tensor.data, bytes.data(), bytes.size());
    outputs.push_back({file, std::move(tensor)});
  }
  return outputs;
}

/// What happened, for the report.
struct Outcome {
  std::vector<Diagnostic> findings;
  std::optional<verify::CheckReport> check;
  double microseconds = 0;
  bool good() const { return findings.empty() && (!check || check->ok()); }
};

void report(const Instance& instance, const Plan& plan, const Trace& trace, const Outcome& outcome,
            const std::vector<tensor::Output>& outputs, const Context& context) {
  json files = json::array();
  std::string text;
  if (plan.trace_steps != 0) text += trace.text() + '\n';
  text += fmt::format("{}: {}, on {}\n", instance.name, made_for(instance), plan.device.device);
  text += fmt::format("run     {}\n", time_text(outcome.microseconds));
  if (outcome.check)
    for (const verify::OutputReport& output : outcome.check->outputs)
      text += fmt::format("check   {}\n", check_line(output));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const tensor::Tensor& tensor = outputs[i].tensor;
    const std::string& name = plan.outputs[i].first;
    files.push_back(
        {{"name", name}, {"file", outputs[i].spec}, {"dtype", element_name(tensor.type)}, {"shape", tensor.shape}});
    text += fmt::format("wrote   {}: {} {} to {}\n", name, element_name(tensor.type), tensor::shape_text(tensor.shape),
                        outputs[i].spec);
  }
  if (!outcome.good())
    text += outcome.findings.empty() ? "nothing was written: the check failed\n"
                                     : "nothing was written: the kernel is faulty\n";
  if (!context.json) {
    print(text);
    for (const Diagnostic& finding : outcome.findings) report_error(finding, false);
    return;
  }
  json result = {{"kernel", instance.name},
                 {"made_for", made_for(instance)},
                 {"device", plan.device.device},
                 {"run_us", outcome.microseconds},
                 {"findings", diagnostics_json(outcome.findings)},
                 {"written", files}};
  if (outcome.check) result["check"] = check_json(*outcome.check);
  if (plan.trace_steps != 0) result["trace"] = trace.json();
  print_json(result);
}

}  // namespace

Result<verify::Pattern> parse_pattern(const std::string& option, const std::string& text) {
  using verify::Pattern;
  std::vector<std::string_view> names;
  for (const Pattern pattern :
       {Pattern::plain, Pattern::mixed, Pattern::extreme, Pattern::negative_zeros, Pattern::ones}) {
    if (verify::pattern_name(pattern) == text) return pattern;
    names.push_back(verify::pattern_name(pattern));
  }
  return Diagnostic{Code::bad_arguments, fmt::format("there is no pattern \"{}\"", text),
                    fmt::format("the patterns are: {}", fmt::join(names, ", ")), option};
}

Result<int> run_module(const RunSettings& settings, const driver::KernelName& name, const Context& context) {
  const InstanceFlags flags = {.rows = settings.rows,
                               .cols = settings.cols,
                               .dtype = settings.dtype,
                               .target = settings.device.target,
                               .order = settings.device.order,
                               .cost_basis = "",
                               .sizes = settings.sizes};
  LANEFOLD_TRY(const Plan plan, plan_of(settings, name));
  LANEFOLD_CHECK(check_meaning(std::span(&name, 1), flags, plan.device.device != "lane-machine"));
  LANEFOLD_TRY(const verify::InstanceRequest request,
               instance_request(name, flags, settings.trace ? standard_target() : plan.device.target));
  LANEFOLD_TRY(Instance instance, make_kernel(name, request));
  LANEFOLD_CHECK(check_names(instance, plan.inputs, true));
  LANEFOLD_CHECK(check_names(instance, plan.outputs, false));
  if (instance.program) {
    driver::KernelName plain = name;
    plain.form.clear();
    LANEFOLD_TRY(const driver::ResolvedProgram resolved, driver::resolve_program(plain, request.build));
    LANEFOLD_TRY(instance.parameters, parameter_values(*instance.program, resolved.declared, settings.sizes));
  } else {
    LANEFOLD_CHECK(set_arguments(instance, settings.sizes.set));
  }
  if (plan.outputs.empty() && !settings.check && !settings.trace)
    return Diagnostic{
        Code::nothing_asked, "the results would neither be written nor checked",
        fmt::format("give --out {}=FILE.npy, --check or --trace",
                    names_of(instance, false).empty() ? std::string("NAME") : names_of(instance, false).front()),
        "--out"};
  ModuleMemory memory(instance.buffers);
  LANEFOLD_CHECK(fill(memory, instance, plan));
  std::optional<verify::ModuleMeaning> meaning;
  if (settings.check) meaning.emplace(instance, memory);

  Trace trace(instance.module, plan.trace_steps);
  machine::Options options;
  options.seed = plan.seed;
  if (settings.trace) options.trace = [&trace](const machine::TraceStep& step) { trace.add(step); };
  Outcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  if (plan.device.device == "lane-machine") {
    LANEFOLD_TRY(machine::Report machine_report, verify::run_on_machine(instance, memory, options));
    outcome.findings = std::move(machine_report.findings);
  } else {
    LANEFOLD_CHECK(verify::run_compiled(instance, memory, plan.device));
  }
  outcome.microseconds = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  if (meaning && outcome.findings.empty()) outcome.check = meaning->compare();
  std::vector<tensor::Output> outputs;
  if (outcome.good()) {
    LANEFOLD_TRY(outputs, written(memory, plan.outputs));
    LANEFOLD_CHECK(tensor::write_tensors(outputs));
  }
  report(instance, plan, trace, outcome, outputs, context);
  return outcome.good() ? kSuccess : kFailedCheck;
}

}  // namespace lanefold::cli
