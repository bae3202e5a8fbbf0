#include "verify/module_run.h"

#include <fmt/format.h>

#include "verify/cuda_module.h"

#if LANEFOLD_JIT
#include "jit/jit.h"
#include "runtime/cpu/executor.h"
#endif

namespace lanefold::verify {
namespace {

auto pointers(const ModuleMemory& memory) {
  return [&memory](std::string_view name) -> void* {
    const std::optional<std::size_t> at = memory.find(name);
    return at ? memory.view(*at).data : nullptr;
  };
}

}  // namespace

Result<machine::Report> run_on_machine(const Instance& instance, const ModuleMemory& memory,
                                       const machine::Options& options) {
  machine::Report report;
  machine::GlobalMemory global(instance.module, memory.machine_buffers());
  const bool part = options.begin != 0 || options.end.has_value();
  machine::Options limited = options;
  if (limited.most_steps == 0) limited.most_steps = kMostSteps;
  for (const lane::Kernel& kernel : instance.module.kernels) {
    LANEFOLD_TRY(
        const std::vector<lane::ArgumentWord> words,
        argument_words(kernel, memory.buffers(), pointers(memory), instance.parameters, instance.rows, instance.cols));
    machine::Report launch =
        machine::run(instance.module, kernel, words, instance.rows, instance.cols, global, limited);
    report.counts.add(launch.counts);
    report.findings.insert(report.findings.end(), launch.findings.begin(), launch.findings.end());
    if (!launch.findings.empty()) break;
  }
  if (report.findings.empty() && !part) report.findings = machine::unwritten_outputs(global);
  if (const std::string name = memory.overwritten(); !name.empty())
    internal_error("the lane machine changed memory beside the buffer " + name);
  return report;
}

#if LANEFOLD_JIT
struct CpuModule::Code {
  std::shared_ptr<jit::LinkedModule> linked;
};

Result<CpuModule> CpuModule::compile(const Instance& instance, const target::Target& target) {
  if (std::vector<Diagnostic> faults = lane::verify(instance.module); !faults.empty()) return faults.front();
  LANEFOLD_TRY(const jit::Object object, jit::compile(instance.module, target));
  LANEFOLD_TRY(std::shared_ptr<jit::LinkedModule> linked, jit::load(object, instance.module));
  return CpuModule(instance, std::make_unique<Code>(Code{std::move(linked)}));
}

struct CpuLaunches::Bound {
  std::vector<std::vector<lane::ArgumentWord>> words;
  std::vector<runtime::Launch> launches;
};

void CpuLaunches::run(runtime::Executor& executor) const {
  for (const runtime::Launch& launch : bound_->launches) executor.run(launch);
}

Result<CpuLaunches> CpuModule::bind(const ModuleMemory& memory) const {
  const Instance& instance = *instance_;
  auto bound = std::make_unique<CpuLaunches::Bound>();
  std::int64_t bytes = 0;
  for (const ModuleBuffer& buffer : memory.buffers())
    bytes += buffer.elements() * static_cast<std::int64_t>(element_bytes(buffer.type));
  for (std::size_t k = 0; k < instance.module.kernels.size(); ++k) {
    const lane::Kernel& kernel = instance.module.kernels[k];
    LANEFOLD_TRY(
        std::vector<lane::ArgumentWord> words,
        argument_words(kernel, memory.buffers(), pointers(memory), instance.parameters, instance.rows, instance.cols));
    bound->words.push_back(std::move(words));
    bound->launches.push_back({.entry = code_->linked->entry(k),
                               .arguments = bound->words.back().data(),
                               .threadgroups = lane::launch_threadgroups(kernel, instance.rows, instance.cols),
                               .shared_bytes = lane::shared_bytes(kernel),
                               .bytes = bytes});
  }
  return CpuLaunches(std::move(bound));
}

Status CpuModule::run(const ModuleMemory& memory, unsigned threads) const {
  LANEFOLD_TRY(const CpuLaunches launches, bind(memory));
  runtime::Executor executor(threads);
  launches.run(executor);
  if (const std::string name = memory.overwritten(); !name.empty())
    return Diagnostic{lanefold::Code::machine_out_of_bounds,
                      fmt::format("memory beside the buffer {} was changed", name),
                      "run `lanefold check` on the device lane-machine to see where", instance_->name};
  return success();
}
#else
struct CpuModule::Code {};

Result<CpuModule> CpuModule::compile(const Instance&, const target::Target&) {
  return Diagnostic{lanefold::Code::device_missing, "there is no device cpu here: this build has no JIT",
                    "use --device lane-machine", "--device"};
}

Status CpuModule::run(const ModuleMemory&, unsigned) const { internal_error("verify: a module that nothing compiled"); }
Result<CpuLaunches> CpuModule::bind(const ModuleMemory&) const {
  internal_error("verify: a module that nothing compiled");
}

struct CpuLaunches::Bound {};
void CpuLaunches::run(runtime::Executor&) const {}
#endif

CpuLaunches::CpuLaunches(std::unique_ptr<Bound> bound) : bound_(std::move(bound)) {}
CpuLaunches::CpuLaunches(CpuLaunches&&) noexcept = default;
CpuLaunches& CpuLaunches::operator=(CpuLaunches&&) noexcept = default;
CpuLaunches::~CpuLaunches() = default;

CpuModule::CpuModule(const Instance& instance, std::unique_ptr<Code> code)
    : instance_(&instance), code_(std::move(code)) {}
CpuModule::CpuModule(CpuModule&&) noexcept = default;
CpuModule& CpuModule::operator=(CpuModule&&) noexcept = default;
CpuModule::~CpuModule() = default;

Status run_compiled(const Instance& instance, const ModuleMemory& memory, const DeviceOptions& options) {
  LANEFOLD_CHECK(check_device(options.device));
  if (options.device == "cuda") {
    LANEFOLD_TRY(const CudaModule compiled, CudaModule::compile(instance, options));
    return compiled.run(memory);
  }
  LANEFOLD_TRY(const CpuModule compiled, CpuModule::compile(instance, options.target));
  return compiled.run(memory, options.threads);
}

}  // namespace lanefold::verify
