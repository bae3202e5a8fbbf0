// What the compiler says of a lane module's kernels. It needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/order.h"
#include "lane/module.h"
#include "runtime/cuda/binary_cache.h"
#include "target/target.h"

namespace lanefold::driver {

/// One kernel's share of a multiprocessor.
struct CompiledKernel {
  std::string name;
  std::uint32_t registers = 0;     ///< per thread
  std::uint32_t spill_bytes = 0;   ///< per thread, stored and loaded for want of registers
  std::uint32_t shared_bytes = 0;  ///< threadgroup memory, what a launch gives included
};

/// The record of one compilation.
struct CompiledRecord {
  std::string compiler;      ///< "NVRTC 13.0"
  std::string architecture;  ///< "sm_90"
  std::vector<CompiledKernel> kernels;
  std::vector<std::byte> cubin;
};

/// Compiles the module for a CUDA target, or takes it from the cache. device_missing where there is no NVRTC; refuses what
/// source_text refuses, and targets for which this NVRTC makes no code (code_generation_failed). `flags` are more options of
/// NVRTC.
Result<CompiledRecord> compiled_record(const lane::Module& module, const target::Target& target, ir::Order order,
                                       const runtime::CudaBinaryCache& cache = runtime::CudaBinaryCache::user(),
                                       std::vector<std::string> flags = {});

}  // namespace lanefold::driver
