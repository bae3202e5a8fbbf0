// What the CUDA driver that stands in for a device in tests does and has done: tests/fake_cuda/driver.cpp, a library of its
// own that is loaded as the real one is. Device memory is host memory, and a launch runs at once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/driver_api.h"

namespace lanefold::runtime::fake {

struct Device {
  std::string name;
  std::map<int, int> attributes;
  std::size_t memory = 0;
};

struct Launch {
  std::string kernel;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned shared_bytes = 0;
  unsigned cluster = 1;
  bool programmatic = false;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  std::vector<std::uint64_t> arguments;  ///< the bytes that the kernel's parameters have
};

/// Bytes that lie elsewhere than on the device of the current context, as everything else does.
struct Foreign {
  std::size_t bytes = 0;
  int device = -1;           ///< −1: the host, which CUDA knows nothing of
  bool peer_access = false;  ///< other devices reach it
};

/// What the driver does and has done. Tests read and change it; calls of the driver lock it.
struct State {
  std::mutex mutex;
  std::vector<Device> devices;
  int version = 13000;
  int active_clusters = 7;  ///< of any size that a kernel asks about
  int init_outcome = 0;
  std::map<std::string, int> failures;  ///< outcome of every call of that function
  int lost = 0;                         ///< the error that every call gives since a kernel went wrong
  int next_launch_goes_wrong = 0;       ///< the error that becomes `lost` when the next launch is waited for
  std::map<const void*, Foreign> foreign;
  bool unknown_memory_is_an_error = false;  ///< what a driver says of it: an error, or a type of 0
  /// Of kernels of real machine code: a letter for each, as FakeDriverTest::binary has them.
  std::map<std::string, std::string> parameters;
  bool silent = false;  ///< notes nothing and runs nothing, so that it allocates nothing
  int captures = 0;     ///< streams that are being captured
  std::vector<std::string> calls;
  std::vector<Launch> launches;
  std::map<std::string, int> function_sets;  ///< "kernel attribute" → value
  std::map<std::string, int> alive;          ///< handles by kind that are not given back
};

/// The attributes of an H200.
inline Device h200() {
  using namespace cuda_api;
  return {.name = "Fake H200",
          .attributes = {{kMaxThreadsPerBlock, 1024},
                         {kWarpSize, 32},
                         {kMultiprocessorCount, 132},
                         {kMemoryClockKilohertz, 3201000},
                         {kMemoryBusBits, 6144},
                         {kL2Bytes, 62914560},
                         {kMaxThreadsPerMultiprocessor, 2048},
                         {kCapabilityMajor, 9},
                         {kCapabilityMinor, 0},
                         {kMaxSharedPerMultiprocessor, 233472},
                         {kMaxRegistersPerMultiprocessor, 65536},
                         {kMaxSharedPerBlockOptin, 232448},
                         {kClusterLaunch, 1}},
          .memory = std::size_t{1} << 37};
}

/// The A100's, where they differ in what matters here: no clusters.
inline Device a100() {
  using namespace cuda_api;
  Device device = h200();
  device.name = "Fake A100";
  device.attributes[kCapabilityMajor] = 8;
  device.attributes[kMaxSharedPerBlockOptin] = 166912;
  device.attributes[kMultiprocessorCount] = 108;
  device.attributes[kClusterLaunch] = 0;
  return device;
}

}  // namespace lanefold::runtime::fake
