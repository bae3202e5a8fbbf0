#include "runtime/cuda/device.h"

#include <fmt/format.h>

namespace lanefold::runtime {
namespace {

using cuda_api::Functions;
using cuda_api::Outcome;

// Threadgroups along the first axis of a grid.
constexpr std::int64_t kMaxThreadgroups = 0x7fffffff;

bool no_code_for_device(Outcome outcome) {
  return outcome == cuda_api::kInvalidImage || outcome == cuda_api::kNoBinaryForDevice ||
         outcome == cuda_api::kUnsupportedPtxVersion;
}

}  // namespace

Result<LaunchShape> launch_shape(const lane::Kernel& kernel, std::int64_t rows, std::int64_t cols) {
  const std::int64_t cluster = kernel.cluster;
  const std::int64_t wanted = lane::launch_threadgroups(kernel, rows, cols);
  const std::int64_t threadgroups = (wanted + cluster - 1) / cluster * cluster;
  if (threadgroups > kMaxThreadgroups) {
    return Diagnostic{Code::launch_too_large,
                      fmt::format("{} rows of {} columns take {} threadgroups of {}, more than {}", rows, cols,
                                  threadgroups, kernel.name, kMaxThreadgroups),
                      "launch fewer rows at a time", ""};
  }
  LaunchShape shape;
  shape.grid[0] = static_cast<std::uint32_t>(threadgroups);
  shape.block[0] = kernel.simd_width * kernel.simd_groups;
  shape.cluster = kernel.cluster;
  shape.programmatic_dependent = kernel.programmatic_launch;
  return shape;
}

CudaKernelRequest kernel_request(const lane::Kernel& kernel) {
  return {.name = kernel.name,
          .arguments = static_cast<std::uint32_t>(kernel.arguments.size()),
          .threads = kernel.simd_width * kernel.simd_groups,
          .cluster = kernel.cluster};
}

Result<CudaDevice> CudaDevice::open(int ordinal) {
  LANEFOLD_TRY(const CudaDriver* driver, CudaDriver::get());
  return open(*driver, ordinal);
}

Result<CudaDevice> CudaDevice::open(const CudaDriver& driver, int ordinal) {
  LANEFOLD_TRY(std::shared_ptr<const CudaContext> context, CudaContext::primary(driver, ordinal));
  return describe(std::move(context));
}

Result<CudaDevice> CudaDevice::current() {
  LANEFOLD_TRY(const CudaDriver* driver, CudaDriver::get());
  return current(*driver);
}

Result<CudaDevice> CudaDevice::current(const CudaDriver& driver) {
  LANEFOLD_TRY(std::shared_ptr<const CudaContext> context, CudaContext::current(driver));
  return describe(std::move(context));
}

Result<CudaDevice> CudaDevice::describe(std::shared_ptr<const CudaContext> context) {
  LANEFOLD_TRY(std::string name, context->driver().device_name(context->ordinal()));
  LANEFOLD_TRY(target::Target target, context->driver().target(context->ordinal()));
  const bool reaches_host = context->driver().reaches_host_memory(context->ordinal());
  return CudaDevice(std::move(context), std::move(name), std::move(target), reaches_host);
}

Result<std::shared_ptr<const CudaModule>> CudaDevice::build(const CudaSource& source,
                                                            const CudaBinaryCache& cache) const {
  LANEFOLD_TRY(const Nvrtc* nvrtc, Nvrtc::get());
  LANEFOLD_TRY(const std::string architecture, cuda_architecture(target_));
  LANEFOLD_TRY(CudaBinary binary, cache.get(*nvrtc, source, architecture));
  const bool from_disk = binary.from_disk;
  Result<std::shared_ptr<const CudaModule>> module = load(std::move(binary));
  if (module.ok() || !from_disk || module.error().code != Code::object_damaged) return module;
  // What the folder held is whole and yet no machine code: make it again.
  LANEFOLD_TRY(CudaBinary fresh, nvrtc->compile(source, architecture));
  cache.store(CudaBinaryCache::key(*nvrtc, source, architecture), fresh);
  return load(std::move(fresh));
}

Result<std::shared_ptr<const CudaModule>> CudaDevice::load(CudaBinary binary) const {
  CUmodule module = nullptr;
  Outcome outcome = cuda_api::kSuccess;
  const RelaxedCapture relaxed(*context_);
  const Status status = in_context(*context_, "cuModuleLoadData", [&](const Functions& f) {
    return outcome = f.module_load(&module, binary.cubin.data());
  });
  if (no_code_for_device(outcome)) {
    return Diagnostic{Code::object_damaged,
                      fmt::format("machine code does not load on {} ({}): {}", name_, target_.name,
                                  context_->driver().error_text(outcome)),
                      fmt::format("code of a newer NVRTC needs a newer driver; this one serves CUDA {}.{}",
                                  context_->driver().version() / 1000, context_->driver().version() % 1000 / 10),
                      ""};
  }
  if (!status) return status.error();
  return std::shared_ptr<const CudaModule>(new CudaModule(std::move(binary), {context_, module}));
}

Result<std::shared_ptr<const CudaKernel>> CudaDevice::kernel(std::shared_ptr<const CudaModule> module,
                                                             const CudaKernelRequest& request) const {
  const CudaDriver& driver = context_->driver();
  const Functions& f = driver.functions();
  const ContextScope scope(*context_);
  LANEFOLD_CHECK(driver.check(scope.outcome(), "cuCtxPushCurrent"));
  const RelaxedCapture relaxed(*context_);
  CUfunction function = nullptr;
  const Outcome outcome = f.module_function(&function, module->handle_.get(), request.name.c_str());
  if (outcome == cuda_api::kNotFound) {
    std::string names;
    for (const ResourceUsage& u : module->binary().usage) names += (names.empty() ? "" : ", ") + u.kernel;
    return Diagnostic{Code::unknown_name, fmt::format("the machine code has no kernel {}", request.name),
                      fmt::format("it has {}; a kernel's name is kept where it is declared extern \"C\"",
                                  names.empty() ? "none" : names),
                      ""};
  }
  LANEFOLD_CHECK(driver.check(outcome, "cuModuleGetFunction"));

  if (request.arguments > kMaxCudaArguments) {
    return Diagnostic{
        Code::launch_too_large,
        fmt::format("{} has {} arguments, more than {}", request.name, request.arguments, kMaxCudaArguments),
        "pass an address of many values instead", ""};
  }
  if (request.cluster > target_.max_cluster) {
    return Diagnostic{
        Code::cluster_too_large,
        fmt::format("{} wants clusters of {} threadgroups; {} ({}) has {}", request.name, request.cluster, name_,
                    target_.name, target_.max_cluster == 1 ? "none" : fmt::format("at most {}", target_.max_cluster)),
        "plan for fewer threadgroups a row", ""};
  }
  const auto ask = [&](cuda_api::FunctionAttribute attribute) -> Result<std::uint32_t> {
    int value = 0;
    LANEFOLD_CHECK(driver.check(f.function_attribute(&value, attribute, function), "cuFuncGetAttribute"));
    return static_cast<std::uint32_t>(value);
  };
  LANEFOLD_TRY(const std::uint32_t max_threads, ask(cuda_api::kFunctionMaxThreads));
  if (request.threads > max_threads) {
    return Diagnostic{Code::too_many_threads,
                      fmt::format("{} has threadgroups of {} threads; with its registers {} ({}) runs at most {}",
                                  request.name, request.threads, name_, target_.name, max_threads),
                      "declare the kernel __launch_bounds__, or ask for fewer threads", ""};
  }
  LANEFOLD_TRY(const std::uint32_t static_bytes, ask(cuda_api::kFunctionSharedBytes));
  if (std::uint64_t{static_bytes} + request.shared_bytes > target_.threadgroup_bytes) {
    return Diagnostic{
        Code::threadgroup_memory_exceeded,
        fmt::format("{} needs {} bytes of threadgroup memory; {} ({}) has {}", request.name,
                    std::uint64_t{static_bytes} + request.shared_bytes, name_, target_.name, target_.threadgroup_bytes),
        "keep less of a row in threadgroup memory", ""};
  }
  // What a kernel gets without asking.
  constexpr std::uint32_t kFreeSharedBytes = 48 * 1024;
  if (request.shared_bytes > 0 && static_bytes + request.shared_bytes > kFreeSharedBytes) {
    LANEFOLD_CHECK(driver.check(
        f.function_set_attribute(function, cuda_api::kFunctionMaxDynamicShared, static_cast<int>(request.shared_bytes)),
        "cuFuncSetAttribute"));
  }
  if (request.cluster > target::kPortableCluster) {
    LANEFOLD_CHECK(
        driver.check(f.function_set_attribute(function, cuda_api::kFunctionAnyClusterSize, 1), "cuFuncSetAttribute"));
    cuda_api::LaunchAttribute attribute = {};
    attribute.id = cuda_api::kClusterDimension;
    attribute.value.cluster = {request.cluster, 1, 1};
    const cuda_api::LaunchConfig config = {.grid = {request.cluster, 1, 1},
                                           .block = {request.threads, 1, 1},
                                           .shared_bytes = request.shared_bytes,
                                           .stream = nullptr,
                                           .attributes = &attribute,
                                           .attribute_count = 1};
    int active = 0;
    LANEFOLD_CHECK(driver.check(f.active_clusters(&active, function, &config), "cuOccupancyMaxActiveClusters"));
    if (active == 0) {
      return Diagnostic{Code::cluster_too_large,
                        fmt::format("{} wants clusters of {} threadgroups, for which {} ({}) has no room", request.name,
                                    request.cluster, name_, target_.name),
                        fmt::format("plan for at most {} threadgroups a row", target::kPortableCluster), ""};
    }
  }
  ResourceUsage usage{.kernel = request.name};
  if (const ResourceUsage* found = module->binary().find(request.name)) {
    usage = *found;
  } else {
    // Machine code that came without its log.
    LANEFOLD_TRY(usage.registers, ask(cuda_api::kFunctionRegisters));
    LANEFOLD_TRY(usage.stack_bytes, ask(cuda_api::kFunctionLocalBytes));
    usage.shared_bytes = static_bytes;
  }
  return std::shared_ptr<const CudaKernel>(new CudaKernel(std::move(module), function, request, std::move(usage)));
}

Result<std::shared_ptr<const CudaKernel>> CudaDevice::kernel(const CudaSource& source, const CudaKernelRequest& request,
                                                             const CudaBinaryCache& cache) const {
  LANEFOLD_TRY(std::shared_ptr<const CudaModule> module, build(source, cache));
  return kernel(std::move(module), request);
}

Result<std::string> CudaDevice::memory_fault(const void* address) const {
  if (reaches_host_memory_) return std::string();
  const auto at = reinterpret_cast<cuda_api::Address>(address);
  unsigned type = cuda_api::kMemoryOfNobody;
  int ordinal = -1;
  int attributes[] = {cuda_api::kPointerMemoryType, cuda_api::kPointerDeviceOrdinal};
  void* values[] = {&type, &ordinal};
  const CudaDriver& driver = context_->driver();
  const ContextScope scope(*context_);
  LANEFOLD_CHECK(driver.check(scope.outcome(), "cuCtxPushCurrent"));
  const Outcome outcome = driver.functions().pointer_attributes(2, attributes, values, at);
  // Drivers differ in whether memory that they know nothing of is an error.
  const bool unknown = outcome == cuda_api::kInvalidValue || outcome == cuda_api::kInvalidContext;
  if (unknown || (outcome == cuda_api::kSuccess && type == cuda_api::kMemoryOfNobody))
    return std::string("is memory of the host that CUDA knows nothing of");
  LANEFOLD_CHECK(driver.check(outcome, "cuPointerGetAttributes"));
  if (type != cuda_api::kMemoryOfDevice || ordinal == this->ordinal()) return std::string();
  // Another device's: reached where the caller has enabled peer access, or it is managed.
  cuda_api::Address reached = 0;
  if (driver.functions().pointer_attribute(&reached, cuda_api::kPointerOnDevice, at) == cuda_api::kSuccess)
    return std::string();
  return fmt::format("is memory of CUDA device {}", ordinal);
}

Status CudaDevice::read(const void* address, std::span<std::byte> bytes) const {
  return in_context(*context_, fmt::format("cuMemcpyDtoH of {} bytes", bytes.size()), [&](const Functions& f) {
    return f.copy_from_device(bytes.data(), reinterpret_cast<cuda_api::Address>(address), bytes.size());
  });
}

Status CudaDevice::launch(const CudaKernel& kernel, const LaunchShape& shape, std::span<const lane::ArgumentWord> words,
                          CUstream stream) const {
  if (words.size() != kernel.request_.arguments) {
    internal_error(fmt::format("{} argument words for {}, which has {}", words.size(), kernel.request_.name,
                               kernel.request_.arguments));
  }
  if (shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0) return success();
  // The driver reads as many bytes of each word as the argument has, so a word serves pointers, integers and f32 alike.
  void* pointers[kMaxCudaArguments];
  for (std::size_t i = 0; i < words.size(); ++i) pointers[i] = const_cast<lane::ArgumentWord*>(&words[i]);
  cuda_api::LaunchAttribute attributes[2];
  unsigned count = 0;
  if (shape.cluster > 1) {
    cuda_api::LaunchAttribute& attribute = attributes[count++] = {};
    attribute.id = cuda_api::kClusterDimension;
    attribute.value.cluster = {shape.cluster, 1, 1};
  }
  if (shape.programmatic_dependent) {
    cuda_api::LaunchAttribute& attribute = attributes[count++] = {};
    attribute.id = cuda_api::kProgrammaticStreamSerialization;
    attribute.value.programmatic = 1;
  }
  const cuda_api::LaunchConfig config = {
      .grid = {shape.grid[0], shape.grid[1], shape.grid[2]},
      .block = {shape.block[0], shape.block[1], shape.block[2]},
      .shared_bytes = shape.shared_bytes,
      .stream = stream,
      .attributes = attributes,
      .attribute_count = count,
  };
  const CudaDriver& driver = context_->driver();
  const ContextScope scope(*context_);
  if (scope.outcome() != cuda_api::kSuccess) return driver.failure(scope.outcome(), "cuCtxPushCurrent");
  const Outcome outcome = driver.functions().launch(&config, kernel.function_, pointers, nullptr);
  if (outcome == cuda_api::kSuccess) return success();
  return driver.failure(outcome, fmt::format("the launch of {}", kernel.request_.name));
}

Status CudaDevice::synchronize() const {
  return in_context(*context_, "cuCtxSynchronize", [](const Functions& f) { return f.context_synchronize(); });
}

}  // namespace lanefold::runtime
