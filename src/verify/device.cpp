#include "verify/device.h"

#include <fmt/format.h>

#include "driver/call_check.h"
#include "driver/pipeline.h"
#include "ir/stages.h"
#include "legality/legality.h"
#include "machine/machine.h"
#include "verify/cuda_device.h"
#include "verify/staged_device.h"
#include "verify/team.h"
#if LANEFOLD_JIT
#include "driver/cpu/row_kernel.h"
#endif

namespace lanefold::verify {
namespace {

/// Lowers anew for each call: slow and plain, like the machine itself. A call whose module shows a fault fails.
class LaneMachine final : public Device {
 public:
  LaneMachine(ir::Program program, DeviceOptions options)
      : program_(std::move(program)), options_(std::move(options)) {}

  Status run(const runtime::Call& call) override {
    LANEFOLD_CHECK(driver::check_call(program_, call));
    if (auto refused = legality::program_violation(program_, options_.order, call.cols, options_.target))
      return *refused;
    if (call.rows == 0) return success();
    LANEFOLD_TRY(const driver::Lowered lowered, lower(call));
    const lane::Kernel& kernel = lowered.module.kernels[0];
    std::vector<lane::ArgumentWord> words(kernel.arguments.size());
    runtime::fill_arguments(kernel, call, words);
    std::vector<machine::Buffer> buffers;
    for (const lane::Argument& argument : kernel.arguments)
      if (argument.buffer)
        buffers.push_back(
            {argument.name, argument.role,
             argument.role == lane::Role::output ? call.outputs[argument.index] : call.inputs[argument.index]});
    machine::GlobalMemory memory(lowered.module, buffers);
    machine::Report report =
        machine::run(lowered.module, kernel, words, call.rows, call.cols, memory, {.seed = options_.seed});
    if (report.findings.empty()) report.findings = machine::unwritten_outputs(memory);
    if (!report.findings.empty()) return report.findings.front();
    return success();
  }

  Result<plan::Plan> plan(const runtime::Call& call) override {
    LANEFOLD_TRY(driver::Lowered lowered, lower(call));
    return std::move(lowered.plan);
  }

 private:
  Result<driver::Lowered> lower(const runtime::Call& call) const {
    lower::Access access;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      access.strided_inputs.push_back(call.inputs[i].column_stride != 1);
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
      access.strided_outputs.push_back(call.outputs[i].column_stride != 1);
    for (const View& view : call.inputs) access.packed_inputs.push_back(view.packing != Packing::plain);
    for (const View& view : call.outputs) access.packed_outputs.push_back(view.packing != Packing::plain);
    plan::Request request;
    request.rows = call.rows;
    request.cols = call.cols;
    request.alignment = driver::alignment_of(program_, call);
    request.order = options_.order;
    request.cost_basis = options_.cost_basis;
    request.layout = options_.layout;
    request.stripe = options_.stripe;
    return driver::lower_program(program_, options_.target, request, options_.plan, access);
  }

  ir::Program program_;
  DeviceOptions options_;
};

#if LANEFOLD_JIT
class Cpu final : public Device {
 public:
  Cpu(std::unique_ptr<driver::RowKernel> kernel, std::shared_ptr<runtime::Executor> team)
      : kernel_(std::move(kernel)), team_(std::move(team)) {}
  Status run(const runtime::Call& call) override { return kernel_->run(call, *team_); }
  Result<plan::Plan> plan(const runtime::Call& call) override {
    LANEFOLD_TRY(const driver::ClassKernel* kernel, kernel_->prepare(call));
    return kernel->plan;
  }

 private:
  std::unique_ptr<driver::RowKernel> kernel_;
  std::shared_ptr<runtime::Executor> team_;
};
#endif

constexpr std::string_view kNames[] = {"cpu", "cuda", "lane-machine"};

/// Of one device, without a look at the others: opening a GPU makes a context there.
DeviceFact fact_of(std::string_view name) {
  if (name == "cuda") {
    // Looked for once: a device neither comes nor goes while a process runs.
    static const Status kCuda = cuda_available();
    static const std::string kWhyNot = kCuda.ok() ? "" : kCuda.error().message;
    return {name, kCuda.ok(), kWhyNot};
  }
#if !LANEFOLD_JIT
  if (name == "cpu") return {name, false, "this build has no JIT: configure with -DLANEFOLD_JIT=ON (needs LLVM 19)"};
#endif
  return {name, true, ""};
}

}  // namespace

std::vector<DeviceFact> devices() {
  std::vector<DeviceFact> facts;
  for (const std::string_view name : kNames) facts.push_back(fact_of(name));
  return facts;
}

Status check_device(std::string_view name) {
  std::string names;
  for (const std::string_view known : kNames) {
    names += (names.empty() ? "" : ", ") + std::string(known);
    if (known != name) continue;
    const DeviceFact fact = fact_of(name);
    if (fact.available) return success();
    return Diagnostic{Code::device_missing, fmt::format("there is no device {} here: {}", name, fact.why_not),
                      "use --device lane-machine", "--device"};
  }
  return Diagnostic{Code::unknown_device, fmt::format("there is no device named {}", name), "the devices are: " + names,
                    "--device"};
}

bool runs_here(const target::Target& target) {
  const target::Target& host = target::host();
  // On x86, an instruction set includes the narrower ones; NEON stands alone.
  const auto is_neon = [](const target::Target& t) { return t.name == "cpu-neon"; };
  return target.family == target::Family::cpu && is_neon(target) == is_neon(host) &&
         target.simd_width <= host.simd_width;
}

std::shared_ptr<runtime::Executor> shared_team([[maybe_unused]] unsigned threads) {
#if LANEFOLD_JIT
  return std::make_shared<runtime::Executor>(threads);
#else
  return nullptr;
#endif
}

Result<std::unique_ptr<Device>> open(ir::Program program, const DeviceOptions& options) {
  return open(std::move(program), options, nullptr);
}

Result<std::unique_ptr<Device>> open(ir::Program program, const DeviceOptions& options,
                                     [[maybe_unused]] std::shared_ptr<runtime::Executor> team) {
  LANEFOLD_CHECK(check_device(options.device));
  if (ir::needs_stages(program)) return open_staged(std::move(program), options, std::move(team));
  if (options.device == "lane-machine")
    return std::unique_ptr<Device>(std::make_unique<LaneMachine>(std::move(program), options));
  if (options.device == "cuda") return open_cuda(std::move(program), options);
#if LANEFOLD_JIT
  if (options.device == "cpu") {
    driver::CompileOptions compile;
    compile.target = options.target;
    compile.order = options.order;
    compile.cost_basis = options.cost_basis;
    compile.plan = options.plan;
    compile.layout = options.layout;
    compile.stripe = options.stripe;
    if (!options.disk_cache) compile.cache = driver::KernelCache(std::nullopt);
    if (!options.disk_cache || !options.tuned) compile.tuned = driver::TunedPlans(std::nullopt);
    LANEFOLD_TRY(auto kernel, driver::RowKernel::create(std::move(program), std::move(compile)));
    if (!team) team = std::make_shared<runtime::Executor>(options.threads);
    return std::unique_ptr<Device>(std::make_unique<Cpu>(std::move(kernel), std::move(team)));
  }
#endif
  internal_error("verify: the device " + options.device + " is listed but cannot be opened");
}

}  // namespace lanefold::verify
