#include "cli/check_modules.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/check_text.h"
#include "cli/module_device.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "plan/analysis.h"
#include "verify/module_check.h"

namespace lanefold::cli {
namespace {

constexpr const char* kTokens[] = {"1", "3", "8"};
/// Every lane of such a form reads its whole row, so the widths stay small.
constexpr std::int64_t kPerLaneCols[] = {1, 31, 257, 1000};
/// Numbers of one magnitude: where they vary, sums cancel, and no tolerance that a mistake would exceed suits all of them.
constexpr verify::Pattern kPattern = verify::Pattern::plain;
constexpr std::uint64_t kSeeds[] = {1, 2};

bool has_tokens(const driver::KernelName& name, const SizeFlags& sizes) {
  if (sort_of(name) != Sort::hand_written) return false;
  const auto is_tokens = [](const kernels::SizeFact& size) { return size.name == "tokens"; };
  const std::vector<kernels::SizeFact>& known = kernels::find_hand_written(name.name)->sizes;
  return std::any_of(known.begin(), known.end(), is_tokens) && sizes.tokens.empty() &&
         std::none_of(sizes.sizes.begin(), sizes.sizes.end(),
                      [](const std::string& text) { return text.starts_with("tokens="); });
}

/// The options of each instance that is checked: those given, with sizes that nobody chose filled in.
Result<std::vector<InstanceFlags>> variants(const driver::KernelName& name, const InstanceFlags& flags) {
  std::vector<InstanceFlags> all;
  if (has_tokens(name, flags.sizes)) {
    for (const char* tokens : kTokens) {
      all.push_back(flags);
      all.back().sizes.tokens = tokens;
    }
    return all;
  }
  if (sort_of(name) == Sort::per_lane && flags.cols.empty()) {
    driver::KernelName plain = name;
    plain.form.clear();
    LANEFOLD_TRY(const driver::ResolvedProgram resolved, driver::resolve_program(plain, {}));
    const std::int64_t block = std::max<std::int64_t>(1, plan::analyse(resolved.program).widest_block);
    for (const std::int64_t cols : kPerLaneCols) {
      InstanceFlags one = flags;
      one.cols = std::to_string((cols + block - 1) / block * block);
      if (one.rows.empty()) one.rows = "3";
      if (all.empty() || all.back().cols != one.cols) all.push_back(std::move(one));
    }
    return all;
  }
  return std::vector<InstanceFlags>{flags};
}

std::string result_text(const verify::ModuleCheck& check) {
  if (!check.findings.empty()) return "FAULTY";
  if (check.report.outputs.empty()) return "no findings";
  return check.report.ok() ? "right" : "WRONG";
}

}  // namespace

void CheckSummary::add(CheckSummary other) {
  cases += other.cases;
  failed += other.failed;
  without_meaning += other.without_meaning;
  devices.merge(other.devices);
  if (!table.empty() && !other.table.empty()) table += '\n';
  table += other.table;
  faults += other.faults;
  list.insert(list.end(), other.list.begin(), other.list.end());
  findings.insert(findings.end(), other.findings.begin(), other.findings.end());
}

Result<verify::DeviceOptions> checking_device(const driver::KernelName& name, const DeviceFlags& flags) {
  LANEFOLD_TRY(verify::DeviceOptions options, module_device(name, flags));
  if (sort_of(name) == Sort::lane_file && options.device != "lane-machine")
    return Diagnostic{
        Code::option_not_for_kernel,
        fmt::format("{} says not what it should compute, and only the lane machine finds other faults", name.text),
        "leave --device out", "--device"};
  return options;
}

Status add_module_cases(const driver::KernelName& name, const InstanceFlags& flags, const DeviceFlags& device,
                        std::vector<ModuleCase>& cases) {
  LANEFOLD_TRY(const verify::DeviceOptions options, checking_device(name, device));
  LANEFOLD_TRY(const std::vector<InstanceFlags> all, variants(name, flags));
  for (const InstanceFlags& one : all) {
    LANEFOLD_TRY(const verify::InstanceRequest request, instance_request(name, one, options.target));
    LANEFOLD_TRY(verify::Instance made, make_kernel(name, request));
    const auto instance = std::make_shared<const verify::Instance>(std::move(made));
    for (const std::uint64_t seed : kSeeds) cases.push_back({instance, options, seed});
  }
  return success();
}

Result<CheckSummary> check_modules(const std::vector<ModuleCase>& cases) {
  CheckSummary summary;
  Table table({"kernel", "made for", "seed", "elements", "max error", "result"},
              {false, false, true, true, true, false});
  Progress progress(fmt::format("of {} checked", counted(static_cast<std::int64_t>(cases.size()), "case")),
                    static_cast<std::int64_t>(cases.size()));
  for (const ModuleCase& c : cases) {
    const verify::Instance& instance = *c.instance;
    LANEFOLD_TRY(const verify::ModuleCheck check, verify::check_module(instance, c.options, kPattern, c.seed));
    const std::string made = made_for(instance);
    const bool compared = !check.report.outputs.empty();
    nlohmann::json entry = check_json(check.report);
    entry["ok"] = check.ok();
    entry["kernel"] = instance.name;
    entry["made_for"] = made;
    entry["pattern"] = verify::pattern_name(kPattern);
    entry["seed"] = c.seed;
    entry["compared"] = compared;
    entry["findings"] = diagnostics_json(check.findings);
    summary.list.push_back(std::move(entry));
    const Elements elements = elements_of(check.report);
    summary.faults += fault_lines(fmt::format("{} with seed {}", instance.name, c.seed), check.report);
    table.add({instance.name, made, std::to_string(c.seed), compared ? std::to_string(elements.count) : "-",
               compared ? fmt::format("{:.2e}", elements.max_error) : "-", result_text(check)});
    // The same statement is at fault in every case: it is told once.
    for (const Diagnostic& finding : check.findings)
      if (std::none_of(summary.findings.begin(), summary.findings.end(),
                       [&](const Diagnostic& d) { return d.text() == finding.text(); }))
        summary.findings.push_back(finding);
    summary.failed += !check.ok();
    summary.without_meaning += !compared && check.findings.empty();
    summary.devices.insert(c.options.device);
    progress.update(static_cast<std::int64_t>(++summary.cases));
  }
  if (summary.cases != 0) summary.table = table.text();
  return summary;
}

}  // namespace lanefold::cli
