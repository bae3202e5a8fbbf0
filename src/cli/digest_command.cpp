// lanefold digest: SHA-256 of each output, of row programs on the standard inputs and of lane modules on the pattern plain.
#include <memory>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_options.h"
#include "cli/instance_options.h"
#include "cli/module_device.h"
#include "cli/report.h"
#include "cli/values.h"
#include "verify/module_check.h"

namespace lanefold::cli {
namespace {

struct Settings {
  std::string kernel, rows, cols, dtype;
  SizeFlags sizes;
  DeviceFlags device;
};

/// The options as those of an instance.
InstanceFlags instance_flags(const Settings& settings) {
  return {.rows = settings.rows,
          .cols = settings.cols,
          .dtype = settings.dtype,
          .target = settings.device.target,
          .order = settings.device.order,
          .cost_basis = "",
          .sizes = settings.sizes};
}

Result<int> digest_module(const Settings& settings, const driver::KernelName& name, const Context& context) {
  LANEFOLD_TRY(const verify::DeviceOptions options, module_device(name, settings.device));
  const InstanceFlags flags = instance_flags(settings);
  LANEFOLD_CHECK(check_meaning(std::span(&name, 1), flags, options.device != "lane-machine"));
  LANEFOLD_TRY(const verify::InstanceRequest request, instance_request(name, flags, options.target));
  LANEFOLD_TRY(const verify::Instance instance, make_kernel(name, request));
  LANEFOLD_TRY(const auto digests, verify::digest_module(instance, options));
  nlohmann::json outputs = nlohmann::json::array();
  std::string text;
  for (const auto& [output, digest] : digests) {
    outputs.push_back({{"name", output}, {"sha256", digest}});
    text += fmt::format("{}  {}\n", digest, output);
  }
  if (context.json) {
    print_json({{"kernel", settings.kernel},
                {"made_for", made_for(instance)},
                {"device", options.device},
                {"outputs", outputs}});
  } else {
    print(text);
  }
  return kSuccess;
}

Result<int> digest_program(const Settings& settings, const driver::KernelName& given, const Context& context) {
  DeviceFlags device = settings.device;
  LANEFOLD_TRY(const driver::KernelName name, program_name(settings.kernel, device.order));
  LANEFOLD_CHECK(check_meaning(given, settings.sizes));
  LANEFOLD_TRY(const driver::ResolvedProgram resolved, resolve_kernel(name, settings.dtype, settings.sizes));
  LANEFOLD_TRY(const verify::DeviceOptions options, device_options(device, resolved.plan));
  if (settings.rows.empty() || settings.cols.empty())
    return Diagnostic{Code::shape_unknown,
                      fmt::format("{} is digested for a shape, which is not given", settings.kernel),
                      "give --rows R and --cols C", settings.rows.empty() ? "--rows" : "--cols"};
  LANEFOLD_TRY(const std::int64_t rows, parse_count("--rows", settings.rows, 0, kMostSize));
  LANEFOLD_TRY(const std::int64_t cols, parse_count("--cols", settings.cols, 0, kMostSize));
  LANEFOLD_CHECK(check_sizes(resolved.program, rows, cols));
  LANEFOLD_TRY(const std::vector<std::string> digests, verify::digest_standard(resolved.program, options, rows, cols));
  nlohmann::json outputs = nlohmann::json::array();
  std::string text;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const ir::Store& store = resolved.program.stores[i];
    outputs.push_back({{"name", store.name}, {"dtype", element_name(store.storage)}, {"sha256", digests[i]}});
    text += fmt::format("{}  {}\n", digests[i], store.name);
  }
  if (context.json) {
    print_json({{"kernel", settings.kernel},
                {"rows", rows},
                {"cols", cols},
                {"device", options.device},
                {"target", options.target.name},
                {"order", ir::order_name(options.order)},
                {"outputs", outputs}});
  } else {
    print(text);
  }
  return kSuccess;
}

Result<int> digest(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(const driver::KernelName name, driver::parse_kernel_name(settings.kernel));
  return verify::names_lane_module(name) ? digest_module(settings, name, context)
                                         : digest_program(settings, name, context);
}

}  // namespace

Action declare_digest(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positional("KERNEL", settings->kernel, "the kernel");
  options.text("--rows", settings->rows, "R", "rows of the matrices (lane modules: default 1)");
  options.text("--cols", settings->cols, "C", "columns of the matrices");
  options.text("--dtype", settings->dtype, "TYPE",
               "storage type of an operator: f32 (default), f16, bf16, e4m3, e5m2 or i8");
  declare_sizes(options, settings->sizes);
  declare_device(options, settings->device);
  return [settings](const Context& context) { return digest(*settings, context); };
}

}  // namespace lanefold::cli
