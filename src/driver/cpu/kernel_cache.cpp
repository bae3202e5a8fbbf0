#include "driver/cpu/kernel_cache.h"

#include <fmt/format.h>

#include "driver/version.h"

namespace lanefold::driver {

std::string KernelCache::key(const lane::Module& module, const target::Target& target) {
  return runtime::BinaryStore::key(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", lane::print(module), target.name,
                                               target.llvm_cpu, target.llvm_features, kVersion, jit::llvm_version(),
                                               jit::generator_hash()));
}

}  // namespace lanefold::driver
