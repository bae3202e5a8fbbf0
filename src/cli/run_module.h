// `lanefold run` of lane modules, and of any kernel that is traced or filled by a pattern.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/instance_options.h"
#include "verify/module_inputs.h"

namespace lanefold::cli {

/// What `lanefold run` was told.
struct RunSettings {
  std::string kernel, dtype;
  std::vector<std::string> inputs, outputs;
  bool check = false;
  DeviceFlags device;
  std::string rows, cols, fill, seed, trace_steps;
  bool trace = false;
  SizeFlags sizes;
};

/// A pattern of contents by its name; bad_arguments where there is none.
Result<verify::Pattern> parse_pattern(const std::string& option, const std::string& text);

/// Makes the kernel for --rows, --cols and sizes, fills its buffers from files or by a pattern, runs it, and writes what was asked
/// for; nothing is written where the lane machine or a check finds a fault.
Result<int> run_module(const RunSettings& settings, const driver::KernelName& name, const Context& context);

}  // namespace lanefold::cli
