// The options that say for what a kernel of any kind is made: a row program for a shape, a hand-written module for its sizes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/device_options.h"
#include "cli/options.h"
#include "verify/made_for.h"

namespace lanefold::cli {

/// The sizes of hand-written modules, and what operators are built for besides a storage type.
struct SizeFlags {
  std::string tokens, weights, simd_width;
  std::vector<std::string> sizes, options;
  std::vector<std::string> set;  ///< `lanefold run` only: what --set gives, of which options belong to what is built
};
void declare_sizes(Options& options, SizeFlags& flags);

struct InstanceFlags {
  std::string rows, cols, dtype, target, order, cost_basis;
  SizeFlags sizes;
};
void declare_instance(Options& options, InstanceFlags& flags);

/// The kind of a kernel, as far as options care.
enum class Sort : std::uint8_t { program, per_lane, lane_file, hand_written };
Sort sort_of(const driver::KernelName& name);

/// Refuses options that have no meaning for any of the kernels and plans of lane modules (option_not_for_kernel), and unknown
/// operators. `on_cpu` says
/// that modules are compiled, so that --target means something to all.
Status check_meaning(std::span<const driver::KernelName> kernels, const InstanceFlags& flags, bool on_cpu = false);

/// The same where a verb takes no more than sizes for kernels that have some.
Status check_meaning(const driver::KernelName& kernel, const SizeFlags& sizes);

/// What an operator or a program's text is built for. `dtype` is empty for f32. A text takes options only.
Result<kernels::Build> build_request(const driver::KernelName& name, const std::string& dtype, const SizeFlags& sizes);

/// The kernel, built so.
Result<driver::ResolvedProgram> resolve_kernel(const driver::KernelName& name, const std::string& dtype,
                                               const SizeFlags& sizes);

/// The options that were given, in the order of the help.
std::vector<std::string> given_options(const InstanceFlags& flags);

/// What make_instance needs for this kernel: its own share of the options. Without --rows it is one row. `standard` is the
/// target where none is asked for. Refuses a missing --cols (shape_unknown).
Result<verify::InstanceRequest> instance_request(const driver::KernelName& name, const InstanceFlags& flags,
                                                 const target::Target& standard);

/// Makes the kernel, and refuses one whose buffers this machine's memory cannot hold.
Result<verify::Instance> make_kernel(const driver::KernelName& name, const verify::InstanceRequest& request);

/// The target of `lanefold count`, `prove` and traces where none is asked for.
const target::Target& standard_target();

using verify::made_for;

}  // namespace lanefold::cli
