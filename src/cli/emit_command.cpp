// lanefold emit: a kernel as text.
#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/compiled_text.h"
#include "cli/device_options.h"
#include "cli/instance_options.h"
#include "cli/machine_code.h"
#include "cli/plan_text.h"
#include "cli/report.h"
#include "cli/values.h"
#include "driver/pipeline.h"
#include "driver/source_launch.h"
#include "driver/source_text.h"
#include "driver/streaming.h"
#include "driver/version.h"
#include "lane/roles.h"
#include "plan/describe.h"
#include "plan/layout.h"
#include "tensor/staged_files.h"

namespace lanefold::cli {
namespace {

struct Settings {
  std::string kernel, rows, cols, alignment, dtype, target, order, as, out;
  SizeFlags sizes;
};

enum class Emission { lane, source, llvm, assembly };

Result<Emission> parse_emission(const std::string& text) {
  if (text == "lane") return Emission::lane;
  if (text == "source") return Emission::source;
  if (text == "llvm") return Emission::llvm;
  if (text == "asm") return Emission::assembly;
  return Diagnostic{Code::unknown_emission, fmt::format("this version cannot emit \"{}\"", text),
                    "emit --as lane, source, llvm or asm", "--as"};
}

/// What stands above emitted text, as comments of its language.
std::string header(Emission emission, const std::string& kernel, const std::string& shape) {
  const std::string_view mark = emission == Emission::llvm ? ";" : emission == Emission::source ? "//" : "#";
  return fmt::format("{0} {1}{2}, emitted by Lanefold {3}. Emitted source may be used without conditions.\n", mark,
                     kernel, shape, driver::kVersion);
}

/// The module of a row program as it is planned, and its target.
struct Emitted {
  lane::Module module;
  target::Target target;
  std::string shape;
  ir::Order order = ir::Order::canonical;
  std::string plan = {};  ///< of a row program, as comments
  /// For how many rows and columns it is to be launched; none: it was not said.
  std::optional<std::pair<std::int64_t, std::int64_t>> size = {};
};

/// How a host launches the source: what `emit --json` says of every kernel in it.
nlohmann::json launches_json(const lane::Module& module, std::int64_t rows, std::int64_t cols) {
  nlohmann::json all = nlohmann::json::array();
  const std::vector<driver::SourceLaunch> launches = driver::source_launches(module, rows, cols);
  for (std::size_t k = 0; k < launches.size(); ++k) {
    const driver::SourceLaunch& launch = launches[k];
    nlohmann::json arguments = nlohmann::json::array();
    for (const lane::Argument& argument : module.kernels[k].arguments)
      arguments.push_back({{"name", argument.name},
                           {"role", std::string(lane::role_name(argument.role))},
                           {"index", argument.index},
                           {"buffer", argument.buffer},
                           {"type", std::string(element_name(argument.type))}});
    all.push_back({{"kernel", launch.kernel},
                   {"threads", launch.threads},
                   {"threadgroups", launch.threadgroups},
                   {"rows_per_threadgroup", module.kernels[k].rows_per_threadgroup},
                   {"cluster", launch.cluster},
                   {"shared_bytes", launch.shared_bytes},
                   {"programmatic", launch.programmatic},
                   {"arguments", arguments}});
  }
  return all;
}

Result<Emitted> lowered(const Settings& settings, const driver::KernelName& given) {
  LANEFOLD_CHECK(check_meaning(given, settings.sizes));
  std::string order = settings.order;
  LANEFOLD_TRY(const driver::KernelName name, program_name(settings.kernel, order));
  if (settings.rows.empty() || settings.cols.empty())
    return Diagnostic{Code::bad_arguments,
                      fmt::format("{} is planned for a shape, which is not given", settings.kernel),
                      "give --rows R and --cols C", settings.rows.empty() ? "--rows" : "--cols"};
  LANEFOLD_TRY(const driver::ResolvedProgram resolved, resolve_kernel(name, settings.dtype, settings.sizes));
  // The lane machine's options: text may be emitted for every target.
  const DeviceFlags flags = {.device = "lane-machine", .target = settings.target, .order = order, .threads = ""};
  LANEFOLD_TRY(const verify::DeviceOptions options, device_options(flags, resolved.plan));
  plan::Request request;
  LANEFOLD_TRY(request.rows, parse_count("--rows", settings.rows, 0, kMostSize));
  LANEFOLD_TRY(request.cols, parse_count("--cols", settings.cols, 0, kMostSize));
  LANEFOLD_TRY(request.alignment, parse_alignment(settings.alignment, request.cols));
  if (resolved.plan && !settings.alignment.empty() && request.alignment < resolved.plan->width.alignment)
    return Diagnostic{Code::option_contradicts_plan,
                      fmt::format("the plan takes an alignment of {} for granted, and {} is promised",
                                  resolved.plan->width.alignment, request.alignment),
                      "leave --alignment out, or make a plan with it", "--alignment"};
  request.order = options.order;
  lower::Access access;
  access.streaming = options.target.family == target::Family::cuda &&
                     driver::streams_on_cuda(driver::column_bytes(resolved.program), request.rows, request.cols);
  LANEFOLD_TRY(driver::Lowered lowered,
               driver::lower_program(resolved.program, options.target, request, resolved.plan, access));
  return Emitted{std::move(lowered.module),
                 options.target,
                 fmt::format(" for {} of {} on {}", counted(request.rows, "row"), counted(request.cols, "column"),
                             options.target.name),
                 lowered.plan.order,
                 driver::plan_comment(lowered.plan),
                 std::pair(request.rows, request.cols)};
}

Result<Emitted> parsed(const Settings& settings, const driver::KernelName& name, Emission emission) {
  if (emission != Emission::lane && emission != Emission::source)
    return Diagnostic{Code::kernel_not_for_verb,
                      fmt::format("{} is a lane module, of which this version emits no machine code", name.file),
                      "emit it --as lane or source", settings.kernel};
  for (const auto& [option, value] : {std::pair<const char*, const std::string&>{"--rows", settings.rows},
                                      std::pair<const char*, const std::string&>{"--cols", settings.cols},
                                      std::pair<const char*, const std::string&>{"--alignment", settings.alignment},
                                      std::pair<const char*, const std::string&>{"--dtype", settings.dtype},
                                      std::pair<const char*, const std::string&>{"--target", settings.target},
                                      std::pair<const char*, const std::string&>{"--order", settings.order}})
    if (!value.empty() && !(emission == Emission::source && option == std::string_view("--target")))
      return Diagnostic{Code::option_not_for_kernel,
                        fmt::format("{} has no meaning for a lane module, which is planned already", option),
                        fmt::format("leave {} out", option), option};
  LANEFOLD_CHECK(check_meaning(name, settings.sizes));
  LANEFOLD_TRY(lane::Module module, driver::read_lane_module(name));
  target::Target target = target::host();
  if (!settings.target.empty()) {
    LANEFOLD_TRY(target, target::find(settings.target));
  }
  return Emitted{std::move(module), std::move(target), ""};
}

/// A hand-written module, or a row program with one lane per element.
Result<Emitted> built(const Settings& settings, const driver::KernelName& name, Emission emission) {
  const InstanceFlags flags = {.rows = settings.rows,
                               .cols = settings.cols,
                               .dtype = settings.dtype,
                               .target = settings.target,
                               .order = settings.order,
                               .cost_basis = "",
                               .sizes = settings.sizes};
  LANEFOLD_CHECK(check_meaning(std::span(&name, 1), flags, emission != Emission::lane));
  if (!settings.alignment.empty())
    return Diagnostic{Code::option_not_for_kernel,
                      fmt::format("--alignment has no meaning for {}, which nothing plans", settings.kernel),
                      "leave --alignment out", "--alignment"};
  target::Target target = target::host();
  if (!settings.target.empty()) {
    LANEFOLD_TRY(target, target::find(settings.target));
  }
  LANEFOLD_TRY(const verify::InstanceRequest request, instance_request(name, flags, target));
  LANEFOLD_TRY(verify::Instance instance, verify::make_instance(name, request));
  std::string shape = fmt::format(" for {}", made_for(instance));
  const std::pair size(instance.rows, instance.cols);
  return Emitted{.module = std::move(instance.module), .target = target, .shape = std::move(shape), .size = size};
}

Result<Emitted> emitted_kernel(const Settings& settings, const driver::KernelName& name, Emission emission) {
  switch (sort_of(name)) {
    case Sort::program: return lowered(settings, name);
    case Sort::lane_file: return parsed(settings, name, emission);
    case Sort::per_lane:
    case Sort::hand_written: return built(settings, name, emission);
  }
  internal_error("emit: an unknown sort of kernel");
}

Result<int> emit(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(const Emission emission, parse_emission(settings.as));
  LANEFOLD_TRY(const driver::KernelName name, driver::parse_kernel_name(settings.kernel));
  LANEFOLD_TRY(const Emitted emitted, emitted_kernel(settings, name, emission));
  // Some lane modules are written for no target.
  const Sort sort = sort_of(name);
  const bool is_for_all = emission == Emission::lane && (sort == Sort::lane_file || sort == Sort::hand_written);
  std::optional<CompiledText> compiled;
  std::string text = header(emission, settings.kernel, emitted.shape);
  if (emission == Emission::lane) {
    text += lane::print(emitted.module);
  } else if (emission == Emission::source) {
    LANEFOLD_TRY(const std::string source, driver::source_text(emitted.module, emitted.target, emitted.order));
    text += emitted.plan;
    text += source;
    // Not part of the text, which is the same on machines without the compiler.
    if (context.json || !settings.out.empty()) compiled = compiled_text(emitted.module, emitted.target, emitted.order);
  } else {
    LANEFOLD_TRY(
        const std::string code,
        machine_code(emitted.module, emitted.target, emission == Emission::llvm ? CodeText::llvm : CodeText::assembly));
    text += code;
  }
  if (!settings.out.empty()) {
    tensor::StagedFiles files;
    LANEFOLD_CHECK(files.stage(settings.out, {std::as_bytes(std::span(text))}));
    LANEFOLD_CHECK(files.commit());
  }
  if (context.json) {
    nlohmann::json result = {
        {"kernel", settings.kernel}, {"as", settings.as}, {"target", is_for_all ? "" : emitted.target.name}};
    if (compiled) result["compiled"] = compiled->json;
    if (emission == Emission::source && emitted.size)
      result["launches"] = launches_json(emitted.module, emitted.size->first, emitted.size->second);
    if (settings.out.empty()) {
      result["text"] = text;
    } else {
      result["file"] = settings.out;
    }
    print_json(result);
  } else if (settings.out.empty()) {
    print(text);
  } else {
    print(fmt::format("wrote {} bytes to {}\n", text.size(), settings.out));
    if (compiled) print(fmt::format("compiled: {}\n", compiled->text));
  }
  return kSuccess;
}

}  // namespace

Action declare_emit(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positional("KERNEL", settings->kernel, "the kernel, or a FILE.lane to verify and print");
  options.text("--rows", settings->rows, "R", "rows to plan for");
  options.text("--cols", settings->cols, "C", "columns to plan for");
  options.text("--alignment", settings->alignment, "N",
               "rows begin at multiples of N elements (default: what the columns allow)");
  options.text("--dtype", settings->dtype, "TYPE",
               "storage type of an operator: f32 (default), f16, bf16, e4m3, e5m2 or i8");
  options.text("--target", settings->target, "NAME", "target to emit for (default: this machine's processor)");
  options.text("--order", settings->order, "ORDER", "canonical (default), serial or free");
  declare_sizes(options, settings->sizes);
  options.text("--as", settings->as, "LANGUAGE", "lane, source, llvm or asm", true);
  options.text("--out", settings->out, "FILE", "file to write (default: standard output)");
  return [settings](const Context& context) { return emit(*settings, context); };
}

}  // namespace lanefold::cli
