// A kernel of any kind, made for given sizes: a lane module, its buffers, and what it means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/kernel_name.h"
#include "kernels/hand_written.h"
#include "verify/check.h"
#include "verify/device.h"
#include "verify/module_memory.h"

namespace lanefold::verify {

/// For what a kernel is made. Sizes and storage of the other kinds are ignored.
struct InstanceRequest {
  std::int64_t rows = 1, cols = 1;  ///< row programs and FILE.lane
  kernels::Build build = {};        ///< operators; of files, what is known of them
  DeviceOptions options = {};       ///< row programs: target, order, plan, layout, …
  kernels::ModuleSizes sizes = {};  ///< hand-written modules
  /// Whether a program that runs in stages will do: its instance has buffers and a program, and a module without kernels.
  bool in_stages = false;
};

struct Instance {
  std::string name;  ///< as it was given
  lane::Module module;
  std::int64_t rows = 1, cols = 1;
  std::vector<ModuleBuffer> buffers;
  std::vector<float> parameters;
  ir::Order order = ir::Order::canonical;  ///< row programs: the order of their folds
  std::optional<ir::Program> program;      ///< row programs
  std::optional<plan::Plan> plan;          ///< row programs that were planned
  kernels::Build build = {};               ///< row programs: what they are built for
  const kernels::HandWritten* hand_written = nullptr;
  kernels::ModuleSizes sizes;  ///< hand-written modules: all of them
  bool right = true;           ///< false: a form with a planted mistake
  Tolerance tolerance;
};

/// The forms that every operator has: "planned" (the one without a name), "serial" and "per_lane".
const std::vector<std::string>& operator_forms();

/// Whether the name is that of a lane module rather than of a row program: FILE.lane, a hand-written module, or the form
/// per_lane of an operator.
bool names_lane_module(const driver::KernelName& name);

/// Makes the kernel. Refuses what resolve_program, planning and build_hand_written refuse, and modules whose buffers have no
/// shape. The module has passed lane::verify_structure, and everything but FILE.lane all of lane::verify.
Result<Instance> make_instance(const driver::KernelName& name, const InstanceRequest& request);

/// The same for a row program that is already there, planned as the options say.
Result<Instance> make_instance(ir::Program program, const InstanceRequest& request);

}  // namespace lanefold::verify
