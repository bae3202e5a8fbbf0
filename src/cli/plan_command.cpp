// lanefold plan: the choice, its cost, every candidate and rejection.
#include <algorithm>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/compiled_text.h"
#include "cli/instance_options.h"
#include "cli/plan_text.h"
#include "cli/report.h"
#include "cli/values.h"
#include "driver/pipeline.h"
#include "driver/tuned_plans.h"
#include "ir/stages.h"
#include "plan/describe.h"
#include "plan/layout.h"
#include "tensor/staged_files.h"
#include "verify/cuda_device.h"
#include "verify/staged_plans.h"
#include "verify/tuned_on.h"

namespace lanefold::cli {
namespace {

struct Settings {
  std::string kernel, rows, cols, alignment, dtype, target, cost_basis, order, simd_groups, rows_per_threadgroup,
      group_threads, out;
  bool tuned = false;
  SizeFlags sizes;
};

// Beyond it the planner speaks, whose limits are narrower.
constexpr std::uint32_t kMostAsked = 0x7fffffff;

Result<plan::Request> request_of(const Settings& settings, const std::string& order) {
  plan::Request request;
  LANEFOLD_TRY(request.rows, parse_count("--rows", settings.rows, 0, kMostSize));
  LANEFOLD_TRY(request.cols, parse_count("--cols", settings.cols, 0, kMostSize));
  LANEFOLD_TRY(request.alignment, parse_alignment(settings.alignment, request.cols));
  if (!order.empty()) {
    LANEFOLD_TRY(request.order, parse_order(order));
  }
  request.cost_basis = settings.cost_basis;
  LANEFOLD_TRY(request.simd_groups, parse_optional_count("--simd-groups", settings.simd_groups, 0, kMostAsked));
  LANEFOLD_TRY(request.rows_per_threadgroup,
               parse_optional_count("--rows-per-threadgroup", settings.rows_per_threadgroup, 0, kMostAsked));
  LANEFOLD_TRY(request.group_threads, parse_optional_count("--group-threads", settings.group_threads, 0, kMostAsked));
  return request;
}

bool is_chosen(const plan::Plan& plan, const plan::Candidate& candidate) {
  return !candidate.rejected && candidate.simd_groups_per_row == plan.simd_groups_per_row &&
         candidate.rows_per_threadgroup == plan.rows_per_threadgroup && candidate.threads == plan.threads &&
         candidate.layout == plan.layout && candidate.cost == plan.cost;
}

/// Why this one: its cost beside that of the cheapest other legal candidate.
std::string reason(const plan::Plan& plan) {
  const plan::Candidate* next = nullptr;
  std::int64_t legal = 0, rejected = 0;
  bool seen = false;
  for (const plan::Candidate& c : plan.candidates) {
    if (c.rejected) {
      ++rejected;
      continue;
    }
    ++legal;
    if (!seen && is_chosen(plan, c)) {
      seen = true;
    } else if (!next || c.cost < next->cost) {
      next = &c;
    }
  }
  std::string text = fmt::format("the least cost of {}, {} rejected", counted(legal, "legal candidate"), rejected);
  if (next) {
    text += fmt::format("; the next costs {:.6g}", next->cost);
    if (plan.cost > 0) text += fmt::format(", {:.2f} times as much", next->cost / plan.cost);
  }
  return text;
}

/// A plan that measurement has chosen on this machine.
struct Tuned {
  driver::TunedOn on;
  driver::TunedPlan found;
};

/// The name of the device here that such a target is; empty where it is none.
std::string device_of(const target::Target& target) {
  if (target.family == target::Family::cpu && verify::runs_here(target)) return "cpu";
  if (target.family != target::Family::cuda || !verify::check_device("cuda")) return "";
  const Result<target::Target> here = verify::cuda_target();
  return here && here->name == target.name ? "cuda" : "";
}

/// What kernels here take instead of the cost basis's choice; an exact request has its own plan.
std::optional<Tuned> tuned_instead(const ir::Program& program, const target::Target& target,
                                   const plan::Request& request, ir::Order order) {
  const bool is_exact = request.simd_groups || request.rows_per_threadgroup || request.group_threads;
  const driver::TunedPlans plans = driver::TunedPlans::user();
  if (is_exact || !request.cost_basis.empty() || request.rows == 0 || !plans.folder()) return std::nullopt;
  const std::string device = device_of(target);
  if (device.empty()) return std::nullopt;
  Result<driver::TunedOn> on = verify::tuned_on(device);
  if (!on) return std::nullopt;
  // A device may have wider limits than its family.
  const Result<target::Target> here = device == "cuda" ? verify::cuda_target() : Result<target::Target>(target);
  if (!here) return std::nullopt;
  const driver::TunedCall call = {.on = *on,
                                  .program = program,
                                  .target = *here,
                                  .order = order,
                                  .rows = request.rows,
                                  .cols = request.cols,
                                  .alignment = verify::planned_alignment(device, request.cols)};
  std::optional<driver::TunedPlan> found = plans.find(call);
  if (!found) return std::nullopt;
  return Tuned{std::move(on).value(), *std::move(found)};
}

/// `shown`: it is the plan above.
std::string tuned_line(const Tuned& tuned, bool shown) {
  const driver::TunedMeasurement& m = tuned.found.measured;
  return fmt::format(
      "tuned           {}\n"
      "                measured {} on {} with {}: {:.4g} µs beside {:.4g} of the default plan, {:.3f} times as long\n",
      shown ? "kernels that plan by themselves take this one"
            : "kernels that plan by themselves take another one (--tuned): " + plan::plan_line(tuned.found.plan),
      m.finished, tuned.on.device, tuned.on.compiler, m.tuned_us, m.default_us, m.ratio);
}

nlohmann::json tuned_json(const Tuned& tuned) {
  const driver::TunedMeasurement& m = tuned.found.measured;
  return {{"device", tuned.on.device},
          {"compiler", tuned.on.compiler},
          {"finished", m.finished},
          {"default_us", m.default_us},
          {"tuned_us", m.tuned_us},
          {"ratio", m.ratio},
          {"plan", plan_fields(tuned.found.plan)}};
}

/// `compiled` is what the compiler says; empty where the target has none. `tuned`: what kernels take instead.
std::string plan_report(const plan::Plan& plan, const std::string& compiled = "",
                        const std::optional<Tuned>& tuned = std::nullopt) {
  std::string text = fmt::format("{}: {} of {} on {}, {} order\n\n", plan.program, counted(plan.rows, "row"),
                                 counted(plan.cols, "column"), plan.target, ir::order_name(plan.order));
  text += fmt::format("layout          {}\n", plan::layout_text(plan.layout));
  text += fmt::format("SIMD groups     {} per row, of {} lanes\n", plan.simd_groups_per_row, plan.simd_width);
  text +=
      fmt::format("threadgroup     {}, {}, {} bytes of memory, {}\n", counted(plan.threads, "thread"),
                  counted(plan.rows_per_threadgroup, "row"), plan.threadgroup_bytes, counted(plan.barriers, "barrier"));
  if (plan.cluster > 1) text += fmt::format("cluster         {} threadgroups share a row\n", plan.cluster);
  text +=
      fmt::format("stripe          {}, {} f32 values a worker\n", plan::stripe_name(plan.stripe), plan.private_stripe);
  text += fmt::format("virtual lanes   {}\n", plan.width.virtual_lanes);
  text +=
      fmt::format("serves          {} to {} columns with the same code{}\n", plan.width.min_cols, plan.width.max_cols,
                  plan.width.alignment == 1
                      ? ""
                      : fmt::format(", where they and the row strides are multiples of {}", plan.width.alignment));
  text += fmt::format("cost            {:.6g} ({})\n", plan.cost, plan.cost_basis);
  if (!compiled.empty()) text += fmt::format("compiled        {}\n", compiled);
  const bool is_tuned = plan.cost_basis == driver::kMeasuredBasis;
  if (!is_tuned) text += fmt::format("why             {}\n", reason(plan));
  if (tuned) text += tuned_line(*tuned, is_tuned);
  if (is_tuned) return text;
  text += "\n";
  Table table({"", "SIMD groups", "rows", "threads", "cost", "layout", "rejected because"},
              {false, true, true, true, true, false, false});
  bool marked = false;
  for (const plan::Candidate& c : plan.candidates) {
    const bool chosen = !marked && is_chosen(plan, c);
    marked = marked || chosen;
    table.add({chosen ? "*" : "", std::to_string(c.simd_groups_per_row), std::to_string(c.rows_per_threadgroup),
               std::to_string(c.threads), c.rejected ? "-" : fmt::format("{:.6g}", c.cost), plan::layout_text(c.layout),
               c.rejected ? fmt::format("{} {}", code_number(c.rejected->code), c.rejected->message) : ""});
  }
  return text + table.text();
}

/// What the compiler says of the planned kernel.
CompiledText compiled_plan(const ir::Program& program, const plan::Plan& plan, const target::Target& target,
                           const plan::Request& request) {
  const auto lowered = driver::lower_program(program, target, request, plan);
  if (!lowered) return {nullptr, fmt::format("not known: {}", lowered.error().message)};
  return compiled_text(lowered->module, target, plan.order);
}

Result<int> plan_in_stages(const Settings& settings, const ir::Program& program, const target::Target& target,
                           const plan::Request& request, const Context& context) {
  if (!settings.out.empty())
    return Diagnostic{Code::option_not_for_kernel,
                      fmt::format("{} works along rows: it has a plan for each stage, and no file of one plan could be "
                                  "named with it",
                                  program.name),
                      "leave --out out; --json prints all of them", "--out"};
  LANEFOLD_TRY(const std::vector<verify::StagePlan> plans,
               verify::plan_stages(program, target, request, verify::runs_here(target)));
  if (context.json) {
    print(verify::stages_json(program.name, plans));
    return kSuccess;
  }
  for (std::size_t s = 0; s < plans.size(); ++s)
    print(fmt::format("{}{}{}\n{}", s == 0 ? "" : "\n", verify::stage_title(plans, s),
                      plans[s].transposed ? "; its rows are the columns of the whole, and its columns the rows" : "",
                      plan_report(plans[s].plan)));
  return kSuccess;
}

Result<int> make_plan(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(const driver::KernelName name, driver::parse_kernel_name(settings.kernel));
  if (!name.plan_path.empty())
    return Diagnostic{Code::kernel_not_for_verb, fmt::format("{} has a plan already", settings.kernel),
                      "name the kernel without @PLAN.json", settings.kernel};
  std::string order = settings.order;
  LANEFOLD_TRY(const driver::KernelName program, program_name(settings.kernel, order));
  LANEFOLD_CHECK(check_meaning(program, settings.sizes));
  LANEFOLD_TRY(const driver::ResolvedProgram resolved, resolve_kernel(program, settings.dtype, settings.sizes));
  target::Target target = target::host();
  if (!settings.target.empty()) {
    LANEFOLD_TRY(target, target::find(settings.target));
  }
  LANEFOLD_TRY(const plan::Request request, request_of(settings, order));
  if (ir::needs_stages(resolved.program)) return plan_in_stages(settings, resolved.program, target, request, context);
  LANEFOLD_TRY(plan::Plan plan, plan::choose(resolved.program, target, request));
  const std::optional<Tuned> tuned = tuned_instead(resolved.program, target, request, plan.order);
  if (settings.tuned && !tuned)
    return Diagnostic{Code::file_missing,
                      fmt::format("no tuned plan of {} is stored for {} of {} on this machine's {}", plan.program,
                                  counted(request.rows, "row"), counted(request.cols, "column"), target.name),
                      "`lanefold tune` stores one where it finds a faster plan; without --tuned the cost basis plans",
                      "--tuned"};
  if (settings.tuned) plan = tuned->found.plan;
  const std::string text = plan::to_json(plan);
  if (!settings.out.empty()) {
    tensor::StagedFiles files;
    LANEFOLD_CHECK(files.stage(settings.out, {std::as_bytes(std::span(text))}));
    LANEFOLD_CHECK(files.commit());
  }
  CompiledText compiled;
  const bool is_cuda = target.family == target::Family::cuda;
  if (is_cuda) compiled = compiled_plan(resolved.program, plan, target, request);
  if (context.json) {
    nlohmann::json record = nlohmann::json::parse(text);
    if (is_cuda) record["compiled"] = compiled.json;
    if (tuned) record["tuned"] = tuned_json(*tuned);
    print(record.dump(2) + "\n");
  } else {
    print(plan_report(plan, compiled.text, tuned));
  }
  if (!context.json && !settings.out.empty()) print(fmt::format("\nwrote the plan to {}\n", settings.out));
  return kSuccess;
}

}  // namespace

Action declare_plan(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positional("OP", settings->kernel, "the operator, or a FILE.fold");
  options.text("--rows", settings->rows, "R", "rows to plan for", true);
  options.text("--cols", settings->cols, "C", "columns to plan for", true);
  options.text("--alignment", settings->alignment, "N",
               "rows begin at multiples of N elements (default: what the columns allow)");
  options.text("--dtype", settings->dtype, "TYPE",
               "storage type of an operator: f32 (default), f16, bf16, e4m3, e5m2 or i8");
  options.text("--target", settings->target, "NAME", "target to plan for (default: this machine's processor)");
  options.text("--cost", settings->cost_basis, "BASIS", "cost basis, such as metal_subgroup_reduction_v1");
  options.text("--order", settings->order, "ORDER", "canonical, serial or free");
  options.text("--simd-groups", settings->simd_groups, "S", "exactly so many SIMD groups per row");
  options.text("--rows-per-threadgroup", settings->rows_per_threadgroup, "Q", "exactly so many rows per threadgroup");
  options.text("--group-threads", settings->group_threads, "N", "exactly so many threads per threadgroup");
  options.flag("--tuned", settings->tuned, "the plan that `lanefold tune` has stored for such calls here");
  options.text("--out", settings->out, "PLAN.json", "file to write the plan to");
  declare_sizes(options, settings->sizes);
  return [settings](const Context& context) { return make_plan(*settings, context); };
}

}  // namespace lanefold::cli
