// Lane modules on a device and beside their meaning, as `run`, `check` and `digest` need them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/device_options.h"
#include "verify/module_check.h"

namespace lanefold::cli {

/// Where a lane module runs: on the cpu where this build has it, a FILE.lane on the lane machine, unless --device says
/// otherwise. --order is no matter of a device here.
Result<verify::DeviceOptions> module_device(const driver::KernelName& name, const DeviceFlags& flags);

/// What a row program or a hand-written module must store. Made before the kernel runs, since that may change its inputs.
class Meaning {
 public:
  Meaning(const verify::Instance& instance, const verify::ModuleMemory& memory);
  /// Compares every element of the outputs.
  verify::CheckReport compare() const;

 private:
  verify::CheckReport compare_program() const;

  const verify::Instance& instance_;
  const verify::ModuleMemory& memory_;
  std::map<std::string, std::vector<double>> values_;  ///< of a hand-written module
};

}  // namespace lanefold::cli
