// A program on a device by name: the CPU through the JIT, a CUDA device, or the lane machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/program.h"
#include "lower/lower.h"
#include "plan/plan.h"
#include "runtime/common/launch.h"
#include "target/target.h"

namespace lanefold::verify {

/// How a program is to run.
struct DeviceOptions {
  std::string device = "cpu";  ///< "cpu", "cuda" or "lane-machine"
  target::Target target =
      target::host();  ///< the CPU target, any target for the lane machine; cuda has its device's own
  ir::Order order = ir::Order::canonical;
  std::string cost_basis;
  std::optional<plan::Plan> plan;
  std::optional<plan::Layout> layout;
  std::optional<plan::Stripe> stripe;
  unsigned threads = 0;    ///< 0: one per processor
  bool disk_cache = true;  ///< compiled code and tuned plans of the user's folder
  bool tuned = true;       ///< a kernel that plans by itself takes tuned plans, see driver/tuned_plans.h
  std::uint64_t seed = 0;  ///< lane machine: of the order in which SIMD groups take turns
};

/// The names of the devices, and whether this build has them.
struct DeviceFact {
  std::string_view name;
  bool available = false;
  std::string_view why_not;
};
std::vector<DeviceFact> devices();

/// One program, ready to run many times.
class Device {
 public:
  virtual ~Device() = default;
  virtual Status run(const runtime::Call& call) = 0;
  /// The plan that such a call uses.
  virtual Result<plan::Plan> plan(const runtime::Call& call) = 0;
};

/// Refuses names of devices that are unknown (unknown_device) or absent (device_missing).
Status check_device(std::string_view name);

/// Whether this machine's processor runs the code of a target.
bool runs_here(const target::Target& target);

/// Refuses unknown and absent devices.
Result<std::unique_ptr<Device>> open(ir::Program program, const DeviceOptions& options);

}  // namespace lanefold::verify
