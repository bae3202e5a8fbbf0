// lanefold check: kernels against the FP64 oracle, every element, outputs poisoned first.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
  return names;
}

Result<std::optional<std::int64_t>> optional_size(const std::string& option, const std::string& text) {
  if (text.empty()) return std::optional<std::int64_t>();
  LANEFOLD_TRY(const std::int64_t size, parse_count(option, text, 0, kMostSize));
  return std::optional(size);
}

Result<int> check(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(const std::vector<std::string> names, kernel_names(settings));
  LANEFOLD_TRY(const std::optional<std::int64_t> rows, optional_size("--rows", settings.rows));
  LANEFOLD_TRY(const std::optional<std::int64_t> cols, optional_size("--cols", settings.cols));
  std::vector<Kernel> kernels;
  std::vector<Case> cases;
  for (const std::string& name : names) {
    Kernel kernel{.name = name, .resolved = {}, .options = {}};
    LANEFOLD_TRY(kernel.resolved, resolve_kernel(name, settings.dtype));
    LANEFOLD_TRY(kernel.options, device_options(settings.device, kernel.resolved.plan));
    for (const Case& c : default_cases(kernels.size(), kernel, rows, cols)) {
      LANEFOLD_CHECK(check_sizes(kernel.resolved.program, c.rows, c.cols));
      cases.push_back(c);
    }
    kernels.push_back(std::move(kernel));
  }

  Table table({"kernel", "rows", "cols", "elements", "max error", "result"}, {false, true, true, true, true, false});
  json list = json::array();
  std::string faults;
  std::size_t failed = 0;
  {
    Progress progress(fmt::format("of {} checked", counted(static_cast<std::int64_t>(cases.size()), "case")),
                      static_cast<std::int64_t>(cases.size()));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& c = cases[i];
      const Kernel& kernel = kernels[c.kernel];
      LANEFOLD_TRY(const verify::CheckReport report,
                   verify::check_standard(kernel.resolved.program, kernel.options, c.rows, c.cols,
                                          tolerance_of(kernel.resolved)));
      json entry = check_json(report);
      entry["kernel"] = kernel.name;
      entry["rows"] = c.rows;
      entry["cols"] = c.cols;
      list.push_back(std::move(entry));
      std::int64_t elements = 0;
      double error = 0;
      for (const verify::OutputReport& output : report.outputs) {
        elements += output.elements;
        error = std::max(error, output.max_error);
        if (output.wrong != 0)
          faults += fmt::format("{} on {} x {}: {}\n", kernel.name, c.rows, c.cols, check_line(output));
      }
      failed += !report.ok();
      table.add({kernel.name, std::to_string(c.rows), std::to_string(c.cols), std::to_string(elements),
                 fmt::format("{:.2e}", error), report.ok() ? "right" : "WRONG"});
      progress.update(static_cast<std::int64_t>(i + 1));
    }
  }
  const std::string_view device = settings.device.device;
  if (context.json) {
    print_json({{"ok", failed == 0}, {"device", device}, {"cases", list}, {"failed", failed}});
  } else {
    print(table.text() + faults);
    print(failed == 0
              ? fmt::format("{} on {}, all right\n", counted(static_cast<std::int64_t>(cases.size()), "case"), device)
              : fmt::format("{} of {} cases on {} FAILED\n", failed, cases.size(), device));
  }
  return failed == 0 ? kSuccess : kFailedCheck;
}

}  // namespace

Action declare_check(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positionals("KERNEL", settings->kernels, "the kernels");
  options.flag("--all", settings->all, "check every operator of the library");
  options.text("--rows", settings->rows, "R", "rows (default: 1, 3 and 17)");
  options.text("--cols", settings->cols, "C", "columns (default: several, from 1 to about 4099)");
  options.text("--dtype", settings->dtype, "TYPE", "storage type of operators: f32 (default), f16 or bf16");
  declare_device(options, settings->device);
  return [settings](const Context& context) { return check(*settings, context); };
}

}  // namespace lanefold::cli
