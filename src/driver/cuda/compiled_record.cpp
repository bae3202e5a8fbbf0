#include "driver/cuda/compiled_record.h"

#include <fmt/format.h>

#include "driver/source_text.h"
#include "emit/cuda/cuda_source.h"
#include "runtime/cuda/driver.h"

namespace lanefold::driver {

Result<CompiledRecord> compiled_record(const lane::Module& module, const target::Target& target, ir::Order order,
                                       const runtime::CudaBinaryCache& cache, std::vector<std::string> flags) {
  LANEFOLD_TRY(std::string text, source_text(module, target, order));
  LANEFOLD_TRY(const runtime::Nvrtc* nvrtc, runtime::Nvrtc::get());
  CompiledRecord record;
  LANEFOLD_TRY(record.architecture, runtime::cuda_architecture(target));
  const runtime::CudaSource source = {.text = std::move(text), .name = module.name + ".cu", .flags = std::move(flags)};
  LANEFOLD_TRY(runtime::CudaBinary binary, cache.get(*nvrtc, source, record.architecture));
  record.compiler = fmt::format("NVRTC {}", nvrtc->version());
  for (const lane::Kernel& kernel : module.kernels) {
    const std::string name = emit::cuda_kernel_name(kernel);
    const runtime::ResourceUsage* usage = binary.find(name);
    if (usage == nullptr) internal_error("driver: the compiler says nothing of the kernel " + name);
    record.kernels.push_back({.name = name,
                              .registers = usage->registers,
                              .spill_bytes = usage->spill_store_bytes + usage->spill_load_bytes,
                              .shared_bytes = usage->shared_bytes + emit::cuda_dynamic_shared_bytes(kernel)});
  }
  record.cubin = std::move(binary.cubin);
  return record;
}

}  // namespace lanefold::driver
