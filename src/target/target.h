// Device families as plain data; a runtime may replace the limits by what its device answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lanefold::target {

enum class Family : std::uint8_t { cpu, cuda, metal };

/// Threadgroups that every CUDA device with clusters takes in one.
inline constexpr std::uint32_t kPortableCluster = 8;

struct Target {
  std::string name;  ///< "cpu-avx2", "metal-m1max", ...
  Family family = Family::cpu;
  std::uint32_t simd_width = 8;  ///< lanes of a SIMD group (f32 elements of a vector register on a CPU)
  std::uint32_t vector_registers =
      16;  ///< CPU: architectural vector registers; GPU: f32 registers a worker can hold without spilling
  std::uint32_t max_threads = 8;        ///< per threadgroup: the device's limit
  std::uint32_t planned_threads = 8;    ///< per threadgroup: what automatic plans consider
  std::uint32_t threadgroup_bytes = 0;  ///< limit of threadgroup memory
  std::uint32_t max_cluster =
      1;  ///< threadgroups of a cluster; more than kPortableCluster only where a device has room for them
  bool programmatic_launch = false;      ///< a launch may begin before the one ahead of it has ended
  std::uint32_t vector_load_bytes = 16;  ///< widest load of one lane (GPU)
  double bandwidth = 0;                  ///< GB/s read plus written, a prior; 0: unknown
  double launch_floor = 0;               ///< µs for an empty launch, a prior
  std::string llvm_cpu;                  ///< CPU: LLVM's processor name for code generation
  std::string llvm_features;             ///< CPU: LLVM's feature string

  // A GPU's sizes; 0 where no device was asked.
  std::uint32_t multiprocessors = 0;
  std::uint32_t multiprocessor_threads = 0;       ///< resident at a time
  std::uint32_t multiprocessor_registers = 0;     ///< of 32 bits
  std::uint32_t multiprocessor_shared_bytes = 0;  ///< threadgroup memory of all resident threadgroups
  std::uint64_t l2_bytes = 0;                     ///< second-level cache
};

/// The known targets.
std::span<const Target> targets();
/// The target of that name, or a diagnostic that lists the names.
Result<Target> find(std::string_view name);
/// The target that this machine's processor runs (cpu-avx512, cpu-avx2, cpu-sse or cpu-neon).
const Target& host();

}  // namespace lanefold::target
