#include "verify/cuda_module.h"

#include <fmt/format.h>

#include "verify/cuda_device.h"
#if LANEFOLD_CUDA
#include "driver/source_text.h"
#include "emit/cuda/cuda_source.h"
#include "verify/cuda_copies.h"
#endif

namespace lanefold::verify {

#if LANEFOLD_CUDA
struct CudaModule::Code {
  runtime::CudaDevice device;
  std::vector<std::shared_ptr<const runtime::CudaKernel>> kernels;
};

Result<CudaModule> CudaModule::compile(const Instance& instance, const DeviceOptions& options) {
  LANEFOLD_CHECK(check_cuda_target(options.target));
  LANEFOLD_TRY(runtime::CudaDevice device, shared_cuda_device());
  if (std::vector<Diagnostic> faults = lane::verify(instance.module); !faults.empty()) return faults.front();
  LANEFOLD_TRY(std::string text, driver::source_text(instance.module, device.target(), instance.order));
  const auto cache = options.disk_cache ? runtime::CudaBinaryCache::user() : runtime::CudaBinaryCache(std::nullopt);
  LANEFOLD_TRY(const std::shared_ptr<const runtime::CudaModule> module,
               device.build({.text = std::move(text), .name = instance.module.name + ".cu"}, cache));
  std::vector<std::shared_ptr<const runtime::CudaKernel>> kernels;
  for (const lane::Kernel& kernel : instance.module.kernels) {
    runtime::CudaKernelRequest request = runtime::kernel_request(kernel);
    request.name = emit::cuda_kernel_name(kernel);
    request.shared_bytes = emit::cuda_dynamic_shared_bytes(kernel);
    LANEFOLD_TRY(kernels.emplace_back(), device.kernel(module, request));
  }
  return CudaModule(instance, std::make_unique<Code>(Code{std::move(device), std::move(kernels)}));
}

Status CudaModule::run(const ModuleMemory& memory) const {
  const Instance& instance = *instance_;
  std::vector<HostBytes> all;
  for (std::size_t b = 0; b < memory.buffers().size(); ++b)
    all.push_back({memory.memory(b), memory.buffers()[b].role != lane::Role::input});
  LANEFOLD_TRY(const CudaCopies copies, CudaCopies::make(code_->device, all));
  const auto pointer_of = [&](std::string_view name) -> void* {
    const std::optional<std::size_t> at = memory.find(name);
    return at ? copies.on_device(memory.view(*at).data) : nullptr;
  };
  for (std::size_t k = 0; k < instance.module.kernels.size(); ++k) {
    const lane::Kernel& kernel = instance.module.kernels[k];
    LANEFOLD_TRY(
        const std::vector<lane::ArgumentWord> words,
        argument_words(kernel, memory.buffers(), pointer_of, instance.parameters, instance.rows, instance.cols));
    LANEFOLD_TRY(runtime::LaunchShape shape, runtime::launch_shape(kernel, instance.rows, instance.cols));
    shape.shared_bytes = emit::cuda_dynamic_shared_bytes(kernel);
    LANEFOLD_CHECK(code_->device.launch(*code_->kernels[k], shape, words, nullptr));
  }
  LANEFOLD_CHECK(copies.bring_back());
  if (const std::string name = memory.overwritten(); !name.empty())
    return Diagnostic{lanefold::Code::machine_out_of_bounds,
                      fmt::format("memory beside the buffer {} was changed", name),
                      "run `lanefold check` on the device lane-machine to see where", instance.name};
  return success();
}
#else
struct CudaModule::Code {};

Result<CudaModule> CudaModule::compile(const Instance&, const DeviceOptions& options) {
  LANEFOLD_CHECK(check_cuda_target(options.target));
  internal_error("verify: a target of a device that is not there");
}

Status CudaModule::run(const ModuleMemory&) const { internal_error("verify: a module that nothing compiled"); }
#endif

CudaModule::CudaModule(const Instance& instance, std::unique_ptr<Code> code)
    : instance_(&instance), code_(std::move(code)) {}
CudaModule::CudaModule(CudaModule&&) noexcept = default;
CudaModule& CudaModule::operator=(CudaModule&&) noexcept = default;
CudaModule::~CudaModule() = default;

}  // namespace lanefold::verify
