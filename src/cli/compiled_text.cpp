#include "cli/compiled_text.h"

#include <fmt/format.h>

#if LANEFOLD_CUDA
#include "driver/cuda/compiled_record.h"
#endif

namespace lanefold::cli {

#if LANEFOLD_CUDA
CompiledText compiled_text(const lane::Module& module, const target::Target& target, ir::Order order) {
  const auto record = driver::compiled_record(module, target, order);
  if (!record) return {nullptr, fmt::format("not known: {}", record.error().message)};
  CompiledText told;
  told.json = {
      {"compiler", record->compiler}, {"architecture", record->architecture}, {"kernels", nlohmann::json::array()}};
  for (const driver::CompiledKernel& kernel : record->kernels) {
    told.json["kernels"].push_back({{"name", kernel.name},
                                    {"registers", kernel.registers},
                                    {"spill_bytes", kernel.spill_bytes},
                                    {"shared_bytes", kernel.shared_bytes}});
    told.text += fmt::format("{}{}registers {}, spills {}, shared {} bytes", told.text.empty() ? "" : "; ",
                             record->kernels.size() == 1 ? "" : kernel.name + ": ", kernel.registers,
                             kernel.spill_bytes, kernel.shared_bytes);
  }
  told.text += fmt::format(" ({} for {})", record->compiler, record->architecture);
  return told;
}
#else
CompiledText compiled_text(const lane::Module&, const target::Target&, ir::Order) {
  return {nullptr, "not known: this build has no CUDA runtime"};
}
#endif

}  // namespace lanefold::cli
