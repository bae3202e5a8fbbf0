// lanefold check: kernels against their FP64 meaning, every element, outputs poisoned first.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/check_modules.h"
#include "cli/check_text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/values.h"
#include "kernels/registry.h"
#include "plan/analysis.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;

struct Settings {
  std::vector<std::string> kernels;
  bool all = false;
  std::string rows, cols, dtype;
  SizeFlags sizes;
  DeviceFlags device;
};

/// One kernel on one shape.
struct Case {
  std::size_t kernel = 0;
  std::int64_t rows = 0, cols = 0;
};

struct Kernel {
  std::string name;
  driver::ResolvedProgram resolved;
  verify::DeviceOptions options;
};

constexpr std::int64_t kRows[] = {1, 3, 17};
constexpr std::int64_t kCols[] = {1, 31, 32, 127, 257, 1000, 1024, 4099};

/// The shapes that nobody chose: each width rounded up to whole blocks. A plan is checked on what it was made for.
std::vector<Case> default_cases(std::size_t number, const Kernel& kernel, std::optional<std::int64_t> rows,
                                std::optional<std::int64_t> cols) {
  std::vector<std::int64_t> all_rows(std::begin(kRows), std::end(kRows)), all_cols;
  const std::int64_t block = std::max<std::int64_t>(1, plan::analyse(kernel.resolved.program).widest_block);
  for (const std::int64_t c : kCols) all_cols.push_back((c + block - 1) / block * block);
  all_cols.erase(std::unique(all_cols.begin(), all_cols.end()), all_cols.end());
  if (kernel.resolved.plan) {
    all_rows = {kernel.resolved.plan->rows};
    all_cols = {kernel.resolved.plan->cols};
  }
  if (rows) all_rows = {*rows};
  if (cols) all_cols = {*cols};
  std::vector<Case> cases;
  for (const std::int64_t c : all_cols)
    for (const std::int64_t r : all_rows) cases.push_back({number, r, c});
  return cases;
}

Result<std::vector<std::string>> kernel_names(const Settings& settings) {
  if (settings.all && !settings.kernels.empty())
    return Diagnostic{Code::bad_arguments, "kernels are named, and --all is given too", "name kernels, or give --all",
                      "--all"};
  if (!settings.all && settings.kernels.empty())
    return Diagnostic{Code::nothing_asked, "no kernel is named", "name kernels, or give --all for every operator",
                      "KERNEL"};
  if (!settings.all) return settings.kernels;
  std::vector<std::string> names;
  for (const kernels::Operator& op : kernels::operators()) names.emplace_back(op.name);
  for (const kernels::HandWritten& op : kernels::hand_written())
    for (const kernels::FormFact& form : op.forms)
      if (form.right) names.push_back(fmt::format("{}:{}", op.name, form.name));
  return names;
}

/// What was found where nothing failed.
std::string verdict(const CheckSummary& summary) {
  if (summary.without_meaning == 0) return "all right";
  if (summary.without_meaning == summary.cases)
    return "no findings; what the outputs should be is not known, so nothing was compared";
  return fmt::format("all right; {} without a meaning to compare with, checked by the lane machine only",
                     summary.without_meaning);
}

Result<std::optional<std::int64_t>> optional_size(const std::string& option, const std::string& text) {
  if (text.empty()) return std::optional<std::int64_t>();
  LANEFOLD_TRY(const std::int64_t size, parse_count(option, text, 0, kMostSize));
  return std::optional(size);
}

/// Checks the row programs among the kernels.
Result<CheckSummary> check_programs(const std::vector<Kernel>& kernels, const std::vector<Case>& cases) {
  CheckSummary summary;
  Table table({"kernel", "rows", "cols", "elements", "max error", "result"}, {false, true, true, true, true, false});
  Progress progress(fmt::format("of {} checked", counted(static_cast<std::int64_t>(cases.size()), "case")),
                    static_cast<std::int64_t>(cases.size()));
  for (const Case& c : cases) {
    const Kernel& kernel = kernels[c.kernel];
    LANEFOLD_TRY(verify::CheckReport found, verify::check_standard(kernel.resolved.program, kernel.options, c.rows,
                                                                   c.cols, tolerance_of(kernel.resolved)));
    const verify::CheckReport report = verify::declared_report(kernel.resolved.program, std::move(found));
    json entry = check_json(report);
    entry["kernel"] = kernel.name;
    entry["rows"] = c.rows;
    entry["cols"] = c.cols;
    summary.list.push_back(std::move(entry));
    const Elements elements = elements_of(report);
    summary.faults += fault_lines(fmt::format("{} on {} x {}", kernel.name, c.rows, c.cols), report);
    summary.failed += !report.ok();
    table.add({kernel.name, std::to_string(c.rows), std::to_string(c.cols), std::to_string(elements.count),
               fmt::format("{:.2e}", elements.max_error), report.ok() ? "right" : "WRONG"});
    summary.devices.insert(kernel.options.device);
    progress.update(static_cast<std::int64_t>(++summary.cases));
  }
  if (summary.cases != 0) summary.table = table.text();
  return summary;
}

Result<int> check(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(const std::vector<std::string> texts, kernel_names(settings));
  LANEFOLD_TRY(const std::optional<std::int64_t> rows, optional_size("--rows", settings.rows));
  LANEFOLD_TRY(const std::optional<std::int64_t> cols, optional_size("--cols", settings.cols));
  std::vector<driver::KernelName> names;
  for (const std::string& text : texts) {
    LANEFOLD_TRY(names.emplace_back(), driver::parse_kernel_name(text));
  }
  InstanceFlags flags;
  flags.rows = settings.rows;
  flags.cols = settings.cols;
  flags.dtype = settings.dtype;
  flags.target = settings.device.target;
  flags.order = settings.device.order;
  flags.sizes = settings.sizes;
  bool on_cpu = false;
  for (const driver::KernelName& name : names) {
    if (!verify::names_lane_module(name)) continue;
    LANEFOLD_TRY(const verify::DeviceOptions options, checking_device(name, settings.device));
    on_cpu = on_cpu || options.device == "cpu";
  }
  LANEFOLD_CHECK(check_meaning(names, flags, on_cpu));
  std::vector<Kernel> kernels;
  std::vector<Case> cases;
  std::vector<ModuleCase> module_cases;
  for (const driver::KernelName& name : names) {
    if (verify::names_lane_module(name)) {
      LANEFOLD_CHECK(add_module_cases(name, flags, settings.device, module_cases));
      continue;
    }
    Kernel kernel{.name = name.text, .resolved = {}, .options = {}};
    DeviceFlags device = settings.device;
    LANEFOLD_TRY(const driver::KernelName program, program_name(name.text, device.order));
    LANEFOLD_TRY(kernel.resolved, resolve_kernel(program, settings.dtype, settings.sizes));
    LANEFOLD_TRY(kernel.options, device_options(device, kernel.resolved.plan));
    for (const Case& c : default_cases(kernels.size(), kernel, rows, cols)) {
      LANEFOLD_CHECK(check_sizes(kernel.resolved.program, c.rows, c.cols));
      cases.push_back(c);
    }
    kernels.push_back(std::move(kernel));
  }
  LANEFOLD_TRY(CheckSummary summary, check_programs(kernels, cases));
  LANEFOLD_TRY(CheckSummary modules, check_modules(module_cases));
  summary.add(std::move(modules));
  const std::string devices = fmt::format("{}", fmt::join(summary.devices, " and "));
  if (context.json) {
    print_json({{"ok", summary.failed == 0}, {"device", devices}, {"cases", summary.list}, {"failed", summary.failed}});
    return summary.failed == 0 ? kSuccess : kFailedCheck;
  }
  print(summary.table + summary.faults);
  const std::string number = counted(static_cast<std::int64_t>(summary.cases), "case");
  print(summary.failed == 0 ? fmt::format("{} on {}, {}\n", number, devices, verdict(summary))
                            : fmt::format("{} of {} on {} FAILED\n", summary.failed, number, devices));
  for (const Diagnostic& finding : summary.findings) report_error(finding, false);
  return summary.failed == 0 ? kSuccess : kFailedCheck;
}

}  // namespace

Action declare_check(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positionals("KERNEL", settings->kernels, "the kernels");
  options.flag("--all", settings->all, "check every operator and every right form of the hand-written modules");
  options.text("--rows", settings->rows, "R", "rows (default: 1, 3 and 17; of a FILE.lane: 1)");
  options.text("--cols", settings->cols, "C", "columns (default: several, from 1 to about 4099; none for a FILE.lane)");
  options.text("--dtype", settings->dtype, "TYPE",
               "storage type of operators: f32 (default), f16, bf16, e4m3, e5m2 or i8");
  declare_sizes(options, settings->sizes);
  declare_device(options, settings->device);
  return [settings](const Context& context) { return check(*settings, context); };
}

}  // namespace lanefold::cli
