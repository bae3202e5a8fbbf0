// lanefold run: a row program on matrices from files; run_module.h has the rest. Nothing is written unless everything went well.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/bound_inputs.h"
#include "cli/check_text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_options.h"
#include "cli/parameters.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_module.h"
#include "ir/stages.h"
#include "plan/describe.h"
#include "tensor/tensor_file.h"
#include "verify/standard_inputs.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;

double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

Result<Assignments> output_files(const RunSettings& settings, const ir::Program& program) {
  LANEFOLD_TRY(const Assignments files, parse_assignments("--out", settings.outputs));
  std::vector<std::string> names, specs;
  for (const ir::Store& store : program.stores) names.push_back(store.name);
  for (const auto& [name, file] : files) {
    if (std::count(names.begin(), names.end(), name) == 0)
      return Diagnostic{Code::unknown_output, fmt::format("{} has no output \"{}\"", program.name, name),
                        fmt::format("its outputs are: {}", fmt::join(names, ", ")),
                        fmt::format("--out {}={}", name, file)};
    specs.push_back(file);
  }
  LANEFOLD_CHECK(tensor::check_output_specs(specs));
  if (files.empty() && !settings.check)
    return Diagnostic{Code::nothing_asked, "the results would neither be written nor checked",
                      fmt::format("give --out {}=FILE.npy or --check", names.front()), "--out"};
  return files;
}

/// A tensor for an output: the leading dimensions of the inputs, then what its kind adds.
Result<tensor::Tensor> output_tensor(const ir::Store& store, const BoundInputs& bound) {
  std::vector<std::int64_t> shape = bound.leading;
  if (store.kind.tag == ir::Kind::Tag::column) shape = {bound.cols};
  if (store.kind.tag == ir::Kind::Tag::element) shape.push_back(bound.cols);
  if (store.kind.tag == ir::Kind::Tag::block) shape.push_back(bound.cols / store.kind.block);
  LANEFOLD_CHECK(tensor::byte_count(shape, store.storage));
  return tensor::make_tensor(std::move(shape), store.storage);
}

Result<View> output_view(const ir::Store& store, const tensor::Tensor& tensor) {
  if (store.kind.tag != ir::Kind::Tag::row) return tensor::matrix_view(tensor);
  tensor::Tensor column = tensor;
  column.shape.push_back(1);
  column.strides.push_back(1);
  LANEFOLD_TRY(View view, tensor::matrix_view(column));
  view.column_stride = 0;
  return view;
}

/// What happened, for the report.
struct Outcome {
  plan::Plan plan;
  double prepare_us = 0, kernel_us = 0;
  std::optional<verify::CheckReport> check;
};

void report(const RunSettings& settings, const Context& context, const std::string& device, const BoundInputs& bound,
            const Assignments& files, const std::vector<tensor::Tensor>& outputs, const Outcome& outcome) {
  const ir::Program& program = bound.resolved.program;
  const bool wrong = outcome.check && !outcome.check->ok();
  json written = json::array();
  std::string text = fmt::format("{}: {} of {} in {}, on {}\n", program.name, counted(bound.rows, "row"),
                                 counted(bound.cols, "column"), element_name(bound.storage), device);
  text += fmt::format("plan    {}{}\n", ir::needs_stages(program) ? "of its stage along rows: " : "",
                      plan::plan_line(outcome.plan));
  text += fmt::format("kernel  {}, after {} to plan and compile\n", time_text(outcome.kernel_us),
                      time_text(outcome.prepare_us));
  if (outcome.check)
    for (const verify::OutputReport& output : outcome.check->outputs)
      text += fmt::format("check   {}\n", check_line(output));
  for (const auto& [name, file] : files) {
    if (wrong) break;
    const auto store =
        std::find_if(program.stores.begin(), program.stores.end(), [&](const ir::Store& s) { return s.name == name; });
    const tensor::Tensor& tensor = outputs[static_cast<std::size_t>(store - program.stores.begin())];
    written.push_back({{"name", name}, {"file", file}, {"dtype", element_name(tensor.type)}, {"shape", tensor.shape}});
    text += fmt::format("wrote   {}: {} {} to {}\n", name, element_name(tensor.type), tensor::shape_text(tensor.shape),
                        file);
  }
  if (wrong) text += "nothing was written: the check failed\n";
  if (!context.json) return print(text);
  json result = {{"kernel", settings.kernel},
                 {"rows", bound.rows},
                 {"cols", bound.cols},
                 {"dtype", element_name(bound.storage)},
                 {"device", device},
                 {"plan", plan_fields(outcome.plan)},
                 {"prepare_us", outcome.prepare_us},
                 {"kernel_us", outcome.kernel_us},
                 {"written", written}};
  if (outcome.check) result["check"] = check_json(*outcome.check);
  print_json(result);
}

/// The files of a row program tell its shape and hold its inputs.
Status check_no_module_options(const RunSettings& settings) {
  for (const auto& [option, given] : {std::pair<const char*, bool>{"--rows", !settings.rows.empty()},
                                      std::pair<const char*, bool>{"--cols", !settings.cols.empty()},
                                      std::pair<const char*, bool>{"--seed", !settings.seed.empty()},
                                      std::pair<const char*, bool>{"--trace-steps", !settings.trace_steps.empty()}})
    if (given)
      return Diagnostic{Code::option_not_for_kernel,
                        fmt::format("{} has no meaning for {}, whose files tell the shape", option, settings.kernel),
                        fmt::format("leave {} out, or give --fill or --trace", option), option};
  return success();
}

Result<int> run_program(const RunSettings& settings, const driver::KernelName& given, const Context& context) {
  LANEFOLD_CHECK(check_no_module_options(settings));
  DeviceFlags device_flags = settings.device;
  LANEFOLD_TRY(const driver::KernelName name, program_name(settings.kernel, device_flags.order));
  LANEFOLD_CHECK(check_meaning(given, settings.sizes));
  std::optional<ElementType> dtype;
  if (!settings.dtype.empty()) {
    LANEFOLD_TRY(dtype, parse_storage(settings.dtype));
  }
  LANEFOLD_TRY(const Assignments input_files, parse_assignments("--in", settings.inputs));
  // Every word of the command is read before any file of numbers is.
  LANEFOLD_TRY(const kernels::Build request, build_request(name, "", settings.sizes));
  LANEFOLD_TRY(const driver::ResolvedProgram declared, driver::resolve_program(name, request));
  LANEFOLD_TRY(const Assignments files, output_files(settings, declared.program));
  LANEFOLD_TRY(const std::vector<float> parameters,
               parameter_values(declared.program, declared.declared, settings.sizes));
  LANEFOLD_TRY(const verify::DeviceOptions options, device_options(device_flags, declared.plan));
  LANEFOLD_TRY(const BoundInputs bound, bind_inputs(name, input_files, dtype, request));
  const ir::Program& program = bound.resolved.program;
  LANEFOLD_CHECK(check_memory(program, bound.rows, bound.cols));
  LANEFOLD_TRY(const std::unique_ptr<verify::Device> device, verify::open(program, options));

  std::vector<tensor::Tensor> outputs;
  std::vector<View> views;
  for (const ir::Store& store : program.stores) {
    LANEFOLD_TRY(tensor::Tensor tensor, output_tensor(store, bound));
    // A check must see elements that were never written: no result looks like this poison, a NaN or −1.
    if (settings.check && tensor.element_count() > 0)
      std::memset(tensor.data, 0xff, static_cast<std::size_t>(tensor.element_count()) * element_bytes(tensor.type));
    LANEFOLD_TRY(const View view, output_view(store, tensor));
    views.push_back(view);
    outputs.push_back(std::move(tensor));
  }

  Outcome outcome;
  const runtime::Call call = {
      .inputs = bound.views, .outputs = views, .parameters = parameters, .rows = bound.rows, .cols = bound.cols};
  auto begin = std::chrono::steady_clock::now();
  LANEFOLD_TRY(outcome.plan, device->plan(call));
  outcome.prepare_us = microseconds_since(begin);
  begin = std::chrono::steady_clock::now();
  LANEFOLD_CHECK(device->run(call));
  outcome.kernel_us = microseconds_since(begin);

  if (settings.check) {
    Progress progress(fmt::format("of {} checked", counted(bound.rows, "row")), bound.rows);
    const oracle::Bindings bindings = {
        .inputs = bound.views, .parameters = parameters, .rows = bound.rows, .cols = bound.cols};
    outcome.check =
        verify::declared_report(program, verify::compare(program, bindings, views, tolerance_of(bound.resolved),
                                                         [&](std::int64_t rows) { progress.update(rows); }));
  }
  const bool good = !outcome.check || outcome.check->ok();
  if (good) {
    std::vector<tensor::Output> written;
    for (std::size_t i = 0; i < program.stores.size(); ++i)
      for (const auto& [output, file] : files)
        if (output == program.stores[i].name) written.push_back({file, outputs[i]});
    LANEFOLD_CHECK(tensor::write_tensors(written));
  }
  report(settings, context, options.device, bound, files, outputs, outcome);
  return good ? kSuccess : kFailedCheck;
}

Result<int> run(const RunSettings& settings, const Context& context) {
  LANEFOLD_TRY(const driver::KernelName name, driver::parse_kernel_name(settings.kernel));
  const bool whole = !verify::names_lane_module(name) && settings.fill.empty() && !settings.trace;
  return whole ? run_program(settings, name, context) : run_module(settings, name, context);
}

}  // namespace

Action declare_run(Options& options) {
  const auto settings = std::make_shared<RunSettings>();
  options.positional("KERNEL", settings->kernel, "the kernel");
  options.list("--in", settings->inputs, "NAME=FILE", "an input: file.npy or file.safetensors#name");
  options.list("--out", settings->outputs, "NAME=FILE", "an output to write");
  options.list("--set", settings->sizes.set, "NAME=NUMBER", "a parameter, such as eps=1e-6, or an option");
  options.text("--dtype", settings->dtype, "TYPE", "storage type where a file cannot say it, as .npy cannot say bf16");
  options.flag("--check", settings->check,
               "compare every element with the FP64 oracle; write nothing where one is wrong");
  options.flag("--trace", settings->trace, "show what each SIMD group executes, lane by lane, on the lane machine");
  options.text("--trace-steps", settings->trace_steps, "N", "the most steps that --trace shows (default: 200)");
  options.text("--fill", settings->fill, "PATTERN",
               "what inputs hold that no file gives: plain, mixed, extreme, negative_zeros or ones");
  options.text("--seed", settings->seed, "N", "chooses the contents of --fill (default: 1)");
  options.text("--rows", settings->rows, "R", "with --fill or --trace, and for lane modules: rows (default: 1)");
  options.text("--cols", settings->cols, "C", "with --fill or --trace, and for lane modules: columns");
  declare_sizes(options, settings->sizes);
  declare_device(options, settings->device);
  return [settings](const Context& context) { return run(*settings, context); };
}

}  // namespace lanefold::cli
