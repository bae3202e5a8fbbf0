// `lanefold check` of lane modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/instance_options.h"
#include "verify/module_check.h"

namespace lanefold::cli {

/// One module with one content of its inputs.
struct ModuleCase {
  std::shared_ptr<const verify::Instance> instance;
  verify::DeviceOptions options;
  std::uint64_t seed = 1;  ///< of the numbers in its inputs, and of the turns of SIMD groups
};

/// What a number of cases came to.
struct CheckSummary {
  std::size_t cases = 0, failed = 0;
  std::size_t without_meaning = 0;  ///< that had nothing to be compared with
  std::set<std::string> devices;
  std::string table, faults;
  nlohmann::json list = nlohmann::json::array();
  std::vector<Diagnostic> findings;  ///< of the lane machine

  void add(CheckSummary other);
};

/// Where a lane module is checked. Refuses a FILE.lane anywhere but on the lane machine, since nothing else finds its faults.
Result<verify::DeviceOptions> checking_device(const driver::KernelName& name, const DeviceFlags& flags);

/// The cases of a lane module: for the sizes asked for, else 1, 3 and 8 tokens or several columns; each with two contents.
Status add_module_cases(const driver::KernelName& name, const InstanceFlags& flags, const DeviceFlags& device,
                        std::vector<ModuleCase>& cases);

Result<CheckSummary> check_modules(const std::vector<ModuleCase>& cases);

}  // namespace lanefold::cli
