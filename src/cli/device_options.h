// The options that say how and where a kernel runs, as several verbs take them.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/options.h"
#include "driver/kernel_name.h"
#include "verify/check.h"
#include "verify/device.h"

namespace lanefold::cli {

struct DeviceFlags {
  std::string device;  ///< empty: cpu
  std::string target;
  std::string order;
  std::string threads;
};

void declare_device(Options& options, DeviceFlags& flags);

/// What verify::open needs. A plan brings its target and order; options that say otherwise are refused.
Result<verify::DeviceOptions> device_options(const DeviceFlags& flags, const std::optional<plan::Plan>& plan);

/// The name of a row program without its form, for which the form "serial" sets `order`. Refuses lane modules
/// (kernel_not_for_verb), forms that are none of a row program's (unknown_form), and another order than the form's
/// (option_not_for_kernel).
Result<driver::KernelName> program_name(const std::string& kernel, std::string& order);

verify::Tolerance tolerance_of(const driver::ResolvedProgram& resolved);

/// Refuses what needs more bytes than this machine has; `what` needs them, `place` is the kernel.
Status check_bytes(double bytes, const std::string& what, const std::string& place);
/// Refuses matrices that this machine's memory cannot hold, before anything is allocated.
Status check_memory(const ir::Program& program, std::int64_t rows, std::int64_t cols);
/// The same for --rows and --cols, which must ask for at least one column.
Status check_sizes(const ir::Program& program, std::int64_t rows, std::int64_t cols);

}  // namespace lanefold::cli
