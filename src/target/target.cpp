#include "target/target.h"

#include <array>

#include <fmt/format.h>

namespace lanefold::target {
namespace {

constexpr std::uint32_t kKibibyte = 1024;

// "Threadgroup memory" of a CPU is scratch that should stay in the second-level cache. A CPU's threadgroup is one SIMD
// group; more can be asked for, so that the kernels of wider targets run on a CPU too.
Target cpu(std::string name, std::uint32_t simd_width, std::uint32_t registers, std::string llvm_cpu,
           std::string llvm_features = "") {
  Target t;
  t.name = std::move(name);
  t.family = Family::cpu;
  t.simd_width = simd_width;
  t.vector_registers = registers;
  t.max_threads = 16 * simd_width;
  t.planned_threads = simd_width;
  t.threadgroup_bytes = 256 * kKibibyte;
  t.vector_load_bytes = 4 * simd_width;
  t.llvm_cpu = std::move(llvm_cpu);
  t.llvm_features = std::move(llvm_features);
  return t;
}

// More than 64 registers of row data in a worker leave too few threads in flight, though the device has more.
constexpr std::uint32_t kRowRegisters = 64;

Target cuda(std::string name, std::uint32_t shared_kib, std::uint32_t cluster, std::uint32_t multiprocessors,
            double bandwidth, double floor) {
  Target t;
  t.name = std::move(name);
  t.family = Family::cuda;
  t.simd_width = 32;
  t.vector_registers = kRowRegisters;
  t.max_threads = 1024;
  t.planned_threads = 1024;
  t.multiprocessors = multiprocessors;
  t.threadgroup_bytes = shared_kib * kKibibyte;
  t.max_cluster = cluster;
  t.programmatic_launch = cluster > 1;  // both came with sm_90
  t.bandwidth = bandwidth;
  t.launch_floor = floor;
  return t;
}

Target metal(std::string name, std::uint32_t simd_width, double bandwidth, double floor) {
  Target t;
  t.name = std::move(name);
  t.family = Family::metal;
  t.simd_width = simd_width;
  t.vector_registers = kRowRegisters;
  t.max_threads = 1024;
  t.planned_threads = 256;
  t.threadgroup_bytes = 32 * kKibibyte;
  t.bandwidth = bandwidth;
  t.launch_floor = floor;
  return t;
}

const std::array<Target, 13>& table() {
  // x86-64-v4 prefers 256-bit vectors unless told otherwise; the explicit 16-lane vectors would be split in two.
  static const std::array<Target, 13> kTargets = {
      cpu("cpu-sse", 4, 16, "x86-64"),
      cpu("cpu-avx2", 8, 16, "x86-64-v3"),
      cpu("cpu-avx512", 16, 32, "x86-64-v4", "-prefer-256-bit"),
      cpu("cpu-neon", 4, 32, "generic"),
      metal("metal-m1max", 32, 400, 2.06),
      cuda("cuda-sm80", 163, 1, 108, 1400, 0),
      cuda("cuda-sm90", 227, 16, 132, 4250, 0.51),
      cuda("cuda-sm100", 227, 16, 148, 7000, 0),
      metal("generic-4", 4, 0, 0),
      metal("generic-8", 8, 0, 0),
      metal("generic-16", 16, 0, 0),
      metal("generic-32", 32, 0, 0),
      metal("generic-64", 64, 0, 0),
  };
  return kTargets;
}

std::string_view host_name() {
#if defined(__x86_64__) || defined(_M_X64)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return "cpu-avx512";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("bmi2")) {
    return "cpu-avx2";
  }
  return "cpu-sse";
#else
  return "cpu-neon";
#endif
}

const Target* lookup(std::string_view name) {
  for (const Target& t : table()) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

}  // namespace

std::span<const Target> targets() { return table(); }

Result<Target> find(std::string_view name) {
  if (const Target* t = lookup(name)) return *t;
  std::string names;
  for (const Target& t : table()) names += (names.empty() ? "" : ", ") + t.name;
  return Diagnostic{Code::unknown_target, fmt::format("there is no target \"{}\"", name),
                    fmt::format("the targets are {}", names), ""};
}

const Target& host() {
  static const Target* const kHost = lookup(host_name());
  if (kHost == nullptr) internal_error("the host's target is not in the table");
  return *kHost;
}

}  // namespace lanefold::target
