// lanefold count: what kernels read, write and exchange, counted on the lane machine; several stand side by side.
#include <algorithm>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/counts_text.h"
#include "cli/instance_options.h"
#include "cli/report.h"
#include "verify/model_norms.h"
#include "verify/module_run.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;

struct Settings {
  std::vector<std::string> kernels;
  std::string model;
  InstanceFlags instance;
};

Result<CountedKernel> count_one(const driver::KernelName& name, const InstanceFlags& flags) {
  LANEFOLD_TRY(const verify::InstanceRequest request, instance_request(name, flags, standard_target()));
  LANEFOLD_TRY(const verify::Instance instance, make_kernel(name, request));
  verify::ModuleMemory memory(instance.buffers);
  verify::fill_inputs(memory, instance, verify::Pattern::plain, 1);
  LANEFOLD_TRY(machine::Report report, verify::run_on_machine(instance, memory));
  CountedKernel counted{name.text, made_for(instance), instance.module.kernels.front().simd_width, {}, {}};
  counted.counts = std::move(report.counts);
  counted.findings = std::move(report.findings);
  return counted;
}

Result<int> count_kernels(const Settings& settings, const Context& context) {
  if (settings.kernels.empty())
    return Diagnostic{Code::nothing_asked, "no kernel is named", "name kernels, or give --model NAME", "KERNEL"};
  std::vector<driver::KernelName> names;
  for (const std::string& text : settings.kernels) {
    LANEFOLD_TRY(names.emplace_back(), driver::parse_kernel_name(text));
  }
  LANEFOLD_CHECK(check_meaning(names, settings.instance));
  std::vector<CountedKernel> kernels;
  for (const driver::KernelName& name : names) {
    LANEFOLD_TRY(kernels.emplace_back(), count_one(name, settings.instance));
  }
  const bool faulty =
      std::any_of(kernels.begin(), kernels.end(), [](const CountedKernel& k) { return !k.findings.empty(); });
  if (context.json) {
    json list = json::array();
    for (const CountedKernel& kernel : kernels)
      list.push_back({{"kernel", kernel.name},
                      {"made_for", kernel.made_for},
                      {"simd_width", kernel.simd_width},
                      {"counts", counts_json(kernel.counts)},
                      {"findings", diagnostics_json(kernel.findings)}});
    print_json({{"ok", !faulty}, {"kernels", list}});
  } else if (faulty) {
    for (const CountedKernel& kernel : kernels) {
      if (kernel.findings.empty()) continue;
      print(fmt::format("{} is faulty, so its counts mean nothing\n", kernel.name));
      for (const Diagnostic& finding : kernel.findings) report_error(finding, false);
    }
  } else {
    print(counts_text(kernels));
  }
  return faulty ? kFailedCheck : kSuccess;
}

Result<const verify::ModelNorms*> find_model(const std::string& name) {
  std::vector<std::string_view> names;
  for (const verify::ModelNorms& model : verify::model_norms()) {
    if (model.name == name) return &model;
    names.push_back(model.name);
  }
  return Diagnostic{Code::unknown_model, fmt::format("there is no model \"{}\"", name),
                    fmt::format("the models are: {}", fmt::join(names, ", ")), "--model"};
}

Result<int> count_model(const Settings& settings, const Context& context) {
  if (!settings.kernels.empty())
    return Diagnostic{Code::bad_arguments, "kernels are named, and --model is given too",
                      "name kernels, or give --model NAME", "--model"};
  InstanceFlags rest = settings.instance;
  rest.target.clear();
  if (!given_options(rest).empty())
    return Diagnostic{Code::option_not_for_kernel,
                      fmt::format("{} has no meaning for a model, whose sizes are known", given_options(rest).front()),
                      fmt::format("leave {} out", given_options(rest).front()), given_options(rest).front()};
  LANEFOLD_TRY(const verify::ModelNorms* model, find_model(settings.model));
  target::Target target = standard_target();
  if (!settings.instance.target.empty()) {
    LANEFOLD_TRY(target, target::find(settings.instance.target));
  }
  LANEFOLD_TRY(const verify::ModelCount count, verify::count_model(*model, target));
  Table table({"norm", "columns", "launches", "per_lane", "planned", "redundant"},
              {false, true, true, true, true, true});
  json norms = json::array();
  for (const verify::ModelNormCount& n : count.norms) {
    const std::uint64_t redundant =
        static_cast<std::uint64_t>(n.launches) * (n.fold_reads_per_lane - n.fold_reads_planned);
    table.add({std::string(n.norm.op), std::to_string(n.norm.cols), std::to_string(n.launches),
               grouped(n.fold_reads_per_lane), grouped(n.fold_reads_planned), grouped(redundant)});
    norms.push_back({{"op", n.norm.op},
                     {"cols", n.norm.cols},
                     {"launches", n.launches},
                     {"fold_reads_per_lane", n.fold_reads_per_lane},
                     {"fold_reads_planned", n.fold_reads_planned},
                     {"redundant_reads", redundant},
                     {"per_lane", counts_json(n.per_lane)},
                     {"planned", counts_json(n.planned)}});
  }
  if (context.json) {
    print_json({{"model", model->name},
                {"summary", model->summary},
                {"target", target.name},
                {"layers", model->layers},
                {"norms", norms},
                {"redundant_reads", count.redundant_reads()}});
    return kSuccess;
  }
  print(
      fmt::format("{}: {}, one token, on {}\n\n{}\nper_lane and planned: elements that the fold of one launch reads; "
                  "redundant: read more often than once, in all launches\nredundant reads of a decode step: {}\n",
                  model->name, model->summary, target.name, table.text(), grouped(count.redundant_reads())));
  return kSuccess;
}

}  // namespace

Action declare_count(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positionals("KERNEL", settings->kernels, "the kernels: several stand side by side");
  options.text("--model", settings->model, "NAME", "instead of kernels: the norms of a model's decode step");
  declare_instance(options, settings->instance);
  return [settings](const Context& context) {
    return settings->model.empty() ? count_kernels(*settings, context) : count_model(*settings, context);
  };
}

}  // namespace lanefold::cli
