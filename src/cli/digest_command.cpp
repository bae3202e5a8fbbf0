// lanefold digest: SHA-256 of each output on the standard inputs.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_options.h"
#include "cli/report.h"
#include "cli/values.h"

namespace lanefold::cli {
namespace {

struct Settings {
  std::string kernel, rows, cols, dtype;
  DeviceFlags device;
};

Result<int> digest(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(const driver::ResolvedProgram resolved, resolve_kernel(settings.kernel, settings.dtype));
  LANEFOLD_TRY(const verify::DeviceOptions options, device_options(settings.device, resolved.plan));
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

}  // namespace

Action declare_digest(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positional("KERNEL", settings->kernel, "the kernel");
  options.text("--rows", settings->rows, "R", "rows of the matrices", true);
  options.text("--cols", settings->cols, "C", "columns of the matrices", true);
  options.text("--dtype", settings->dtype, "TYPE", "storage type of an operator: f32 (default), f16 or bf16");
  declare_device(options, settings->device);
  return [settings](const Context& context) { return digest(*settings, context); };
}

}  // namespace lanefold::cli
