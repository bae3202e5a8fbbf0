#if LANEFOLD_CUDA
#include "bench/arms/cuda_subject.h"

#include <chrono>

#include <fmt/format.h>

#include "bench/arms/cuda_sets.h"
#include "bench/arms/subject.h"
#include "driver/source_text.h"
#include "emit/cuda/cuda_source.h"
#include "verify/cuda_device.h"
#include "verify/module_check.h"

namespace lanefold::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBytesPerUs = 4e6;  // about what a fast device moves

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::int64_t bytes_of(const verify::ModuleMemory& memory) {
  std::int64_t bytes = 0;
  for (const verify::ModuleBuffer& buffer : memory.buffers())
    bytes += buffer.elements() * static_cast<std::int64_t>(element_bytes(buffer.type));
  return bytes;
}

ResourceRecord resources_of(const runtime::CudaKernel& kernel, std::uint32_t dynamic_bytes) {
  const runtime::ResourceUsage& usage = kernel.usage();
  return {kernel.request().name, usage.registers, usage.spill_store_bytes + usage.spill_load_bytes,
          usage.shared_bytes + dynamic_bytes};
}

/// The matrix of a program in one set.
View placed(const verify::Instance& instance, const SubjectMemory& memory, std::size_t set, const std::string& name,
            const ir::Kind& kind) {
  View view = verify::program_matrix(instance, memory, name, kind);
  view.data = static_cast<std::byte*>(memory.cuda->data(set, *memory.find(name)));
  return view;
}

Result<std::vector<CudaStep>> row_kernel_steps(const SubjectRequest& request, const verify::Instance& instance,
                                               const SubjectMemory& memory, const runtime::CudaDevice& device,
                                               CudaSubject& made) {
  const verify::DeviceOptions& options = request.instance.options;
  driver::CudaCompileOptions compile;
  compile.order = instance.order;
  compile.cost_basis = options.cost_basis;
  compile.layout = options.layout;
  compile.stripe = options.stripe;
  // A plan that the kernel's name brings was read with the instance, which then carries it.
  if (options.plan || !request.kernel.plan_path.empty()) compile.plan = instance.plan;
  compile.cache = runtime::CudaBinaryCache(request.code_folder);
  if (!options.tuned) compile.tuned = driver::TunedPlans(std::nullopt);
  LANEFOLD_TRY(const auto kernel, driver::CudaRowKernel::create(*instance.program, device, std::move(compile)));
  CudaStep step;
  for (std::size_t set = 0; set < memory.cuda->count(); ++set) {
    std::vector<View> inputs, outputs;
    for (const ir::Input& input : instance.program->inputs)
      inputs.push_back(placed(instance, memory, set, input.name, input.kind));
    for (const ir::Store& store : instance.program->stores)
      outputs.push_back(placed(instance, memory, set, store.name, store.kind));
    LANEFOLD_TRY(driver::CudaLaunch launch,
                 kernel->prepare({inputs, outputs, instance.parameters, instance.rows, instance.cols}));
    if (!launch.kernel) return std::vector<CudaStep>();
    made.row_kernel = launch.kernel;
    step.kernel = launch.kernel->kernel;
    step.shape = launch.shape;
    step.words.push_back(std::move(launch.words));
  }
  made.plan = made.row_kernel->plan;
  made.source = made.row_kernel->source;
  for (const driver::PhaseTime& time : made.row_kernel->times) made.phases.push_back({time.phase, time.microseconds});
  return std::vector<CudaStep>{std::move(step)};
}

Result<std::vector<CudaStep>> module_steps(const verify::Instance& instance, const SubjectMemory& memory,
                                           const runtime::CudaDevice& device, CudaSubject& made) {
  auto begin = Clock::now();
  LANEFOLD_TRY(made.source, driver::source_text(instance.module, device.target(), instance.order));
  made.phases.push_back({"emit", microseconds_since(begin)});
  begin = Clock::now();
  LANEFOLD_TRY(const auto module, device.build({.text = made.source, .name = instance.name + ".cu"},
                                               runtime::CudaBinaryCache(std::nullopt)));
  std::vector<CudaStep> steps;
  for (const lane::Kernel& kernel : instance.module.kernels) {
    CudaStep& step = steps.emplace_back();
    runtime::CudaKernelRequest asked = runtime::kernel_request(kernel);
    asked.name = emit::cuda_kernel_name(kernel);
    asked.shared_bytes = emit::cuda_dynamic_shared_bytes(kernel);
    LANEFOLD_TRY(step.kernel, device.kernel(module, asked));
    LANEFOLD_TRY(step.shape, runtime::launch_shape(kernel, instance.rows, instance.cols));
    step.shape.shared_bytes = asked.shared_bytes;
    for (std::size_t set = 0; set < memory.cuda->count(); ++set) {
      const auto pointer = [&](std::string_view name) { return memory.cuda->data(set, *memory.find(name)); };
      LANEFOLD_TRY(
          step.words.emplace_back(),
          verify::argument_words(kernel, instance.buffers, pointer, instance.parameters, instance.rows, instance.cols));
    }
  }
  made.phases.push_back({"compile", microseconds_since(begin)});
  made.plan = instance.plan;
  return steps;
}

}  // namespace

Result<std::unique_ptr<CudaSubject>> CudaSubject::open(const SubjectRequest& request, const verify::Instance& instance,
                                                       SubjectMemory& memory, bool through_row_kernel) {
  if (instance.module.kernels.empty())
    return Diagnostic{
        Code::device_not_timed,
        fmt::format("{} runs in stages, which are not timed on a CUDA device in this version", request.kernel.text),
        "use --device cpu, or measure each stage as a program of its own", "--device"};
  auto made = std::make_unique<CudaSubject>();
  auto begin = Clock::now();
  LANEFOLD_TRY(const runtime::CudaDevice device, runtime::CudaDevice::open());
  // A lane module that is no row program is made for every target.
  if (instance.program && request.instance.options.target.name != device.target().name)
    return Diagnostic{
        Code::target_not_here,
        fmt::format("{} is {}, not {}", device.name(), device.target().name, request.instance.options.target.name),
        "measure where that target is at home", request.kernel.text};
  const std::int64_t bytes = bytes_of(memory);
  if (!memory.cuda) {
    LANEFOLD_TRY(memory.cuda, CudaSets::create(device, memory, sets_beyond_cache(bytes)));
  }
  made->phases.push_back({"setup", microseconds_since(begin)});
  begin = Clock::now();
  LANEFOLD_CHECK(memory.cuda->upload(memory, 0));
  const double uploaded = microseconds_since(begin);
  LANEFOLD_TRY(std::vector<CudaStep> steps, through_row_kernel
                                                ? row_kernel_steps(request, instance, memory, device, *made)
                                                : module_steps(instance, memory, device, *made));
  for (const CudaStep& step : steps) made->resources.push_back(resources_of(*step.kernel, step.shape.shared_bytes));
  made->phases.push_back({"upload", uploaded});
  LANEFOLD_TRY(made->timer, CudaTimer::create(device, std::move(steps), memory.cuda->count(),
                                              static_cast<double>(bytes) / kBytesPerUs));
  return made;
}

}  // namespace lanefold::bench
#endif
