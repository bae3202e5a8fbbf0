#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

#include <fmt/format.h>

namespace lanefold::runtime {
namespace {

using namespace cuda_api;

constexpr const char* kOldestDriver = "525 (CUDA 12.0)";

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Diagnostic missing(std::string message, std::string hint) {
  return {Code::device_missing, std::move(message), std::move(hint), ""};
}

// Of the peak that clock and bus give, what copies reach: 4.25 of 4.9 TB/s on an H200.
constexpr double kReachedShare = 0.87;

double estimated_bandwidth(int kilohertz, int bus_bits) {
  constexpr double kTransfersPerClock = 2;
  return kReachedShare * kTransfersPerClock * kilohertz * 1e3 * bus_bits / 8 / 1e9;
}

// Errors after which every call in the context fails again.
bool loses_context(Outcome outcome) {
  return outcome == kIllegalAddress || outcome == kAssert ||
         (outcome >= kHardwareStackError && outcome <= kLaunchFailed);
}

}  // namespace

Result<const CudaDriver*> CudaDriver::get() {
  static const Result<std::unique_ptr<CudaDriver>> kDriver = [] {
    const char* named = std::getenv("LANEFOLD_CUDA_DRIVER");
    return load(named != nullptr && *named != '\0' ? named : "libcuda.so.1");
  }();
  if (!kDriver) return kDriver.error();
  return kDriver.value().get();
}

Result<std::unique_ptr<CudaDriver>> CudaDriver::load(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return missing(
        fmt::format("there is no CUDA driver here: {}", reason ? reason : library + " cannot be loaded"),
        fmt::format("a CUDA device needs NVIDIA's driver {} or newer; LANEFOLD_CUDA_DRIVER names the library "
                    "where it is not on the linker's path",
                    kOldestDriver));
  }
  std::unique_ptr<CudaDriver> driver(new CudaDriver);
  Functions& functions = driver->functions_;
  const char* absent = nullptr;
#define LANEFOLD_CUDA_FUNCTION(member, symbol, parameters)                                   \
  functions.member = reinterpret_cast<decltype(functions.member)>(::dlsym(handle, #symbol)); \
  if (functions.member == nullptr && absent == nullptr) absent = #symbol;
  LANEFOLD_CUDA_FUNCTIONS(LANEFOLD_CUDA_FUNCTION)
#undef LANEFOLD_CUDA_FUNCTION
  if (functions.driver_version != nullptr) functions.driver_version(&driver->version_);
  if (absent != nullptr) {
    return missing(fmt::format("the CUDA driver here is too old: {} (CUDA {}) has no function {}", library,
                               version_text(driver->version_), absent),
                   fmt::format("Lanefold needs NVIDIA's driver {} or newer", kOldestDriver));
  }
  const Outcome outcome = functions.init(0);
  if (outcome == kSuccess) functions.device_count(&driver->device_count_);
  if (outcome == kNoDevice || (outcome == kSuccess && driver->device_count_ == 0)) {
    return missing("the CUDA driver finds no device",
                   "nvidia-smi lists the devices of this machine; CUDA_VISIBLE_DEVICES may hide them");
  }
  if (outcome != kSuccess) {
    return missing(fmt::format("the CUDA driver does not start: cuInit gives {}", driver->error_text(outcome)),
                   "nvidia-smi says more where the driver's library and its kernel module do not fit together");
  }
  return driver;
}

std::string CudaDriver::error_text(Outcome outcome) const {
  const char* name = nullptr;
  const char* text = nullptr;
  functions_.error_name(outcome, &name);
  functions_.error_string(outcome, &text);
  if (name == nullptr) return fmt::format("CUDA error {}", outcome);
  return fmt::format("{} ({})", name, text ? text : "");
}

Diagnostic CudaDriver::failure(Outcome outcome, std::string_view action) const {
  const std::string message = fmt::format("{} failed: {}", action, error_text(outcome));
  if (outcome == kOutOfMemory) {
    return {Code::out_of_memory, message, "other processes may hold the device's memory: nvidia-smi lists them", ""};
  }
  if (loses_context(outcome)) {
    return {Code::device_failed, message,
            "a kernel went wrong before, and its CUDA context is lost: only another process can go on", ""};
  }
  return {Code::device_failed, message, "", ""};
}

Status CudaDriver::check_ordinal(int ordinal) const {
  if (ordinal >= 0 && ordinal < device_count_) return success();
  return missing(fmt::format("there is no CUDA device {} here: the driver finds {}", ordinal, device_count_),
                 fmt::format("devices are numbered from 0 to {}", device_count_ - 1));
}

Result<int> CudaDriver::attribute(int device, DeviceAttribute attribute) const {
  int value = 0;
  LANEFOLD_CHECK(check(functions_.device_attribute(&value, attribute, device),
                       fmt::format("cuDeviceGetAttribute of attribute {}", static_cast<int>(attribute))));
  return value;
}

Result<std::string> CudaDriver::device_name(int ordinal) const {
  LANEFOLD_CHECK(check_ordinal(ordinal));
  int device = 0;
  char name[256] = "";
  LANEFOLD_CHECK(check(functions_.device_get(&device, ordinal), "cuDeviceGet"));
  LANEFOLD_CHECK(check(functions_.device_name(name, sizeof name - 1, device), "cuDeviceGetName"));
  return std::string(name);
}

Result<std::size_t> CudaDriver::device_memory(int ordinal) const {
  LANEFOLD_CHECK(check_ordinal(ordinal));
  int device = 0;
  std::size_t bytes = 0;
  LANEFOLD_CHECK(check(functions_.device_get(&device, ordinal), "cuDeviceGet"));
  LANEFOLD_CHECK(check(functions_.device_memory(&bytes, device), "cuDeviceTotalMem"));
  return bytes;
}

bool CudaDriver::reaches_host_memory(int ordinal) const {
  int device = 0;
  if (functions_.device_get(&device, ordinal) != kSuccess) return false;
  const Result<int> value = attribute(device, kPageableMemoryAccess);
  return value.ok() && *value != 0;
}

Result<target::Target> CudaDriver::target(int ordinal) const {
  LANEFOLD_CHECK(check_ordinal(ordinal));
  int device = 0;
  LANEFOLD_CHECK(check(functions_.device_get(&device, ordinal), "cuDeviceGet"));
  LANEFOLD_TRY(const int major, attribute(device, kCapabilityMajor));
  LANEFOLD_TRY(const int minor, attribute(device, kCapabilityMinor));
  const std::string name = fmt::format("cuda-sm{}{}", major, minor);
  Result<target::Target> known = target::find(name);
  const bool is_known = known.ok();
  // What no table says of a device that is not known is taken from the oldest that is; limits are asked for below.
  if (!is_known) known = target::find("cuda-sm80");
  target::Target t = std::move(known).value();
  t.name = name;
  if (!is_known) t.bandwidth = t.launch_floor = 0;

  const std::pair<DeviceAttribute, std::uint32_t target::Target::*> limits[] = {
      {kWarpSize, &target::Target::simd_width},
      {kMaxThreadsPerBlock, &target::Target::max_threads},
      {kMaxSharedPerBlockOptin, &target::Target::threadgroup_bytes},
      {kMultiprocessorCount, &target::Target::multiprocessors},
      {kMaxThreadsPerMultiprocessor, &target::Target::multiprocessor_threads},
      {kMaxRegistersPerMultiprocessor, &target::Target::multiprocessor_registers},
      {kMaxSharedPerMultiprocessor, &target::Target::multiprocessor_shared_bytes},
  };
  for (const auto& [which, field] : limits) {
    LANEFOLD_TRY(const int value, attribute(device, which));
    t.*field = static_cast<std::uint32_t>(value);
  }
  LANEFOLD_TRY(const int l2_bytes, attribute(device, kL2Bytes));
  t.l2_bytes = static_cast<std::uint64_t>(l2_bytes);
  // More than the portable number is a kernel's own request, which a device may refuse.
  constexpr std::uint32_t kMostOfCluster = 16;
  constexpr int kFirstWithClusters = 9;
  int clusters = 0;
  if (major >= kFirstWithClusters) {
    LANEFOLD_TRY(clusters, attribute(device, kClusterLaunch));
  }
  t.max_cluster = clusters != 0 ? kMostOfCluster : 1;
  t.programmatic_launch = major >= kFirstWithClusters;
  // A virtual device may not tell these two.
  const Result<int> clock = attribute(device, kMemoryClockKilohertz);
  const Result<int> bus = attribute(device, kMemoryBusBits);
  if (clock.ok() && bus.ok() && *clock > 0 && *bus > 0) t.bandwidth = estimated_bandwidth(*clock, *bus);
  return t;
}

Result<std::string> cuda_architecture(const target::Target& target) {
  constexpr std::string_view kPrefix = "cuda-sm";
  if (target.family == target::Family::cuda && target.name.starts_with(kPrefix))
    return "sm_" + target.name.substr(kPrefix.size());
  return Diagnostic{Code::target_not_here, fmt::format("the target {} is no CUDA device", target.name),
                    "machine code of CUDA is made for targets such as cuda-sm90", ""};
}

}  // namespace lanefold::runtime
