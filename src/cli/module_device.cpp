#include "cli/module_device.h"

#include <algorithm>

namespace lanefold::cli {
namespace {

bool has_cpu() {
  const std::vector<verify::DeviceFact> facts = verify::devices();
  return std::any_of(facts.begin(), facts.end(),
                     [](const verify::DeviceFact& fact) { return fact.name == "cpu" && fact.available; });
}

}  // namespace

Result<verify::DeviceOptions> module_device(const driver::KernelName& name, const DeviceFlags& flags) {
  DeviceFlags device = flags;
  device.order.clear();
  const bool is_file = name.kind == driver::KernelName::Kind::lane_file;
  if (device.device.empty()) device.device = is_file || !has_cpu() ? "lane-machine" : "cpu";
  LANEFOLD_CHECK(verify::check_device(device.device));
  return device_options(device, std::nullopt);
}

}  // namespace lanefold::cli
