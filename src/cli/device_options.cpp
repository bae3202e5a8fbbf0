#include "cli/device_options.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/values.h"
#include "driver/call_check.h"
#include "kernels/registry.h"
#include "verify/cuda_device.h"
#include "verify/instance.h"

namespace lanefold::cli {
namespace {

constexpr std::int64_t kMostThreads = 1024;

/// The value of an option where a plan has one too.
template <class T>
Result<T> agreed(const char* option, T planned, T asked, std::string_view planned_name, std::string_view asked_name) {
  if (planned == asked) return asked;
  return Diagnostic{Code::option_contradicts_plan,
                    fmt::format("the plan is for {}, and {} {} is asked for", planned_name, option, asked_name),
                    fmt::format("leave {} out, or plan anew with it", option), option};
}

}  // namespace

void declare_device(Options& options, DeviceFlags& flags) {
  options.text("--device", flags.device, "NAME", "cpu (default), cuda or lane-machine (default for FILE.lane)");
  options.text("--target", flags.target, "NAME",
               "target to plan and lower for; cpu: one that this processor runs; lane-machine: any");
  options.text("--order", flags.order, "ORDER", "canonical (default), serial or free");
  options.text("--threads", flags.threads, "N", "threads of the CPU, 1 to 1024 (default: one per processor)");
}

Result<verify::DeviceOptions> device_options(const DeviceFlags& flags, const std::optional<plan::Plan>& plan) {
  verify::DeviceOptions options;
  options.device = flags.device.empty() ? "cpu" : flags.device;
  options.plan = plan;
  if (!flags.target.empty()) {
    LANEFOLD_TRY(options.target, target::find(flags.target));
  }
  if (plan) {
    LANEFOLD_TRY(const target::Target planned, target::find(plan->target));
    if (!flags.target.empty())
      LANEFOLD_CHECK(agreed("--target", planned.name, options.target.name, planned.name, options.target.name));
    options.target = planned;
    options.order = plan->order;
  }
  if (options.device == "cuda" && flags.target.empty() && !plan) {
    LANEFOLD_CHECK(verify::check_device(options.device));
    LANEFOLD_TRY(options.target, verify::cuda_target());
  }
  if (!flags.order.empty()) {
    LANEFOLD_TRY(const ir::Order asked, parse_order(flags.order));
    if (plan) LANEFOLD_CHECK(agreed("--order", plan->order, asked, ir::order_name(plan->order), ir::order_name(asked)));
    options.order = asked;
  }
  if (!flags.threads.empty()) {
    LANEFOLD_TRY(const std::int64_t threads, parse_count("--threads", flags.threads, 1, kMostThreads));
    options.threads = static_cast<unsigned>(threads);
  }
  if (options.device == "cpu" && !verify::runs_here(options.target))
    return Diagnostic{
        Code::target_not_here,
        fmt::format("this machine's processor does not run {}; it runs {}", options.target.name, target::host().name),
        "use --device lane-machine, which runs every target", plan ? "plan" : "--target"};
  return options;
}

Result<driver::KernelName> program_name(const std::string& kernel, std::string& order) {
  LANEFOLD_TRY(driver::KernelName name, driver::parse_kernel_name(kernel));
  if (verify::names_lane_module(name))
    return Diagnostic{Code::kernel_not_for_verb,
                      fmt::format("{} is a lane module, which says itself how lanes cooperate", kernel),
                      "name a row program: an operator (see `lanefold ops`) or a FILE.fold", kernel};
  if (name.form.empty()) return name;
  LANEFOLD_CHECK(kernels::find_or_explain(name.name));
  const std::vector<std::string>& forms = verify::operator_forms();
  if (std::find(forms.begin(), forms.end(), name.form) == forms.end())
    return Diagnostic{Code::unknown_form, fmt::format("{} has no form \"{}\"", name.name, name.form),
                      fmt::format("its forms are: {}", fmt::join(forms, ", ")), kernel};
  if (name.form == "serial") {
    if (!order.empty() && order != "serial")
      return Diagnostic{Code::option_not_for_kernel,
                        fmt::format("{} folds in serial order, and --order {} is asked for", kernel, order),
                        "leave --order out, or name the kernel without its form", "--order"};
    order = "serial";
  }
  name.form.clear();
  return name;
}

verify::Tolerance tolerance_of(const driver::ResolvedProgram& resolved) {
  return {.absolute = resolved.absolute_tolerance,
          .relative = resolved.relative_tolerance,
          .code = resolved.code_tolerance};
}

Status check_sizes(const ir::Program& program, std::int64_t rows, std::int64_t cols) {
  if (cols == 0)
    return Diagnostic{Code::no_columns, "a row needs at least one column", "ask for --cols 1 or more", "--cols"};
  return check_memory(program, rows, cols);
}

Status check_memory(const ir::Program& program, std::int64_t rows, std::int64_t cols) {
  double bytes = 0;
  const auto add = [&](ElementType type, const ir::Kind& kind) {
    const driver::Shape shape = driver::expected_shape(kind, rows, cols);
    bytes +=
        static_cast<double>(shape.rows) * static_cast<double>(shape.cols) * static_cast<double>(element_bytes(type));
  };
  for (const ir::Input& input : program.inputs) add(input.storage, input.kind);
  for (const ir::Store& store : program.stores) add(store.storage, store.kind);
  return check_bytes(bytes, fmt::format("{} rows of {} columns", rows, cols), program.name);
}

Status check_bytes(double bytes, const std::string& what, const std::string& place) {
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes <= memory) return success();
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  return Diagnostic{Code::out_of_memory,
                    fmt::format("{}: inputs and outputs need {:.1f} GiB; this machine has {:.1f} GiB", what,
                                bytes / kGibibyte, memory / kGibibyte),
                    "take fewer rows or columns", place};
}

}  // namespace lanefold::cli
