#include "driver/cuda/row_kernel.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/float_environment.h"
#include "driver/source_text.h"
#include "driver/streaming.h"
#include "emit/cuda/cuda_source.h"
#include "legality/legality.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/nvrtc.h"

namespace lanefold::driver {
namespace {

bool is_strided(const View& view, ir::Kind::Tag tag) {
  return tag != ir::Kind::Tag::row && view.column_stride != 1 && view.cols > 1;
}

std::vector<bool> each_bit(std::uint64_t bits, std::size_t count) {
  std::vector<bool> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = (bits >> i & 1) != 0;
  return all;
}

/// The word of each parameter.
std::vector<std::uint32_t> parameter_places(const lane::Kernel& kernel) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < kernel.arguments.size(); ++i) {
    const lane::Argument& argument = kernel.arguments[i];
    if (argument.role != lane::Role::parameter) continue;
    places.resize(std::max<std::size_t>(places.size(), argument.index + 1));
    places[argument.index] = i;
  }
  return places;
}

}  // namespace

Result<TunedOn> tuned_on_cuda(const runtime::CudaDevice& device) {
  LANEFOLD_TRY(const runtime::Nvrtc* nvrtc, runtime::Nvrtc::get());
  return TunedOn{fmt::format("{}, {} multiprocessors", device.name(), device.target().multiprocessors),
                 fmt::format("NVRTC {}", nvrtc->version())};
}

CudaRowKernel::CudaRowKernel(ir::Program program, runtime::CudaDevice device, CudaCompileOptions options)
    : program_(std::move(program)),
      device_(std::move(device)),
      options_(std::move(options)),
      element_bytes_(column_bytes(program_)),
      memory_(device_) {}

Result<std::unique_ptr<CudaRowKernel>> CudaRowKernel::create(ir::Program program, runtime::CudaDevice device,
                                                             CudaCompileOptions options) {
  if (const std::vector<Diagnostic> faults = ir::verify(program, program.name); !faults.empty()) return faults.front();
  if (options.plan) options.order = options.plan->order;
  return std::unique_ptr<CudaRowKernel>(new CudaRowKernel(std::move(program), std::move(device), std::move(options)));
}

CudaRowKernel::Variant CudaRowKernel::variant(const runtime::Call& call) const {
  Variant v;
  v.alignment = alignment_of(program_, call);
  v.row_class = row_class(call.rows);
  v.streaming = streams_on_cuda(element_bytes_, call.rows, call.cols);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    v.strided_inputs |= Ports{is_strided(call.inputs[i], program_.inputs[i].kind.tag)} << i;
    v.packed_inputs |= Ports{call.inputs[i].packing != Packing::plain} << i;
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    v.strided_outputs |= Ports{is_strided(call.outputs[i], program_.stores[i].kind.tag)} << i;
    v.packed_outputs |= Ports{call.outputs[i].packing != Packing::plain} << i;
  }
  return v;
}

std::optional<plan::Plan> CudaRowKernel::tuned_plan(const Variant& v, std::int64_t rows, std::int64_t cols) const {
  if (options_.plan || options_.layout || options_.stripe || !options_.cost_basis.empty() || !options_.tuned.folder())
    return std::nullopt;
  if ((v.strided_inputs | v.strided_outputs | v.packed_inputs | v.packed_outputs) != 0) return std::nullopt;
  Result<TunedOn> on = tuned_on_cuda(device_);
  if (!on) return std::nullopt;
  std::optional<TunedPlan> found = options_.tuned.find({.on = std::move(on).value(),
                                                        .program = program_,
                                                        .target = device_.target(),
                                                        .order = options_.order,
                                                        .rows = rows,
                                                        .cols = cols,
                                                        .alignment = v.alignment});
  if (!found) return std::nullopt;
  return std::move(found->plan);
}

Result<std::shared_ptr<const CudaClassKernel>> CudaRowKernel::build(const Variant& v, std::int64_t rows,
                                                                    std::int64_t cols) const {
  // Text and machine code hold constants, which the caller's rounding must not touch.
  const FloatEnvironment environment;
  lower::Access access;
  access.strided_inputs = each_bit(v.strided_inputs, program_.inputs.size());
  access.strided_outputs = each_bit(v.strided_outputs, program_.stores.size());
  access.packed_inputs = each_bit(v.packed_inputs, program_.inputs.size());
  access.packed_outputs = each_bit(v.packed_outputs, program_.stores.size());
  access.streaming = v.streaming;
  plan::Request request;
  request.rows = rows;
  request.cols = cols;
  request.alignment = v.alignment;
  request.order = options_.order;
  request.cost_basis = options_.cost_basis;
  request.layout = options_.layout;
  request.stripe = options_.stripe;
  const auto made_for = [&](const target::Target& target,
                            const std::optional<plan::Plan>& given) -> Result<std::shared_ptr<const CudaClassKernel>> {
    LANEFOLD_TRY(Lowered lowered, lower_program(program_, target, request, given, access));
    return compile_for(device_, std::move(lowered), options_.cache);
  };
  if (const std::optional<plan::Plan> tuned = tuned_plan(v, rows, cols)) {
    Result<std::shared_ptr<const CudaClassKernel>> made = made_for(device_.target(), tuned);
    if (made.ok()) return made;
  }
  Result<std::shared_ptr<const CudaClassKernel>> made = made_for(device_.target(), options_.plan);
  const bool is_too_large = !made.ok() && made.error().code == Code::cluster_too_large;
  if (!is_too_large || options_.plan || options_.layout) return made;
  // A device with few multiprocessors together takes portable clusters only.
  target::Target portable = device_.target();
  portable.max_cluster = std::min(portable.max_cluster, target::kPortableCluster);
  return made_for(portable, options_.plan);
}

Result<std::shared_ptr<const CudaClassKernel>> compile_for(const runtime::CudaDevice& device, Lowered lowered,
                                                           const runtime::CudaBinaryCache& cache) {
  auto made = std::make_shared<CudaClassKernel>();
  made->times = std::move(lowered.times);
  made->plan = std::move(lowered.plan);
  made->module = std::move(lowered.module);
  const auto began = std::chrono::steady_clock::now();
  LANEFOLD_TRY(made->source, source_text(made->module, device.target(), made->plan.order));
  const auto emitted = std::chrono::steady_clock::now();
  const lane::Kernel& kernel = made->module.kernels[0];
  made->shared_bytes = emit::cuda_dynamic_shared_bytes(kernel);
  made->parameter_words = parameter_places(kernel);
  runtime::CudaKernelRequest request = runtime::kernel_request(kernel);
  request.name = emit::cuda_kernel_name(kernel);
  request.shared_bytes = made->shared_bytes;
  LANEFOLD_TRY(made->kernel, device.kernel({.text = made->source, .name = kernel.name + ".cu"}, request, cache));
  const auto compiled = std::chrono::steady_clock::now();
  const auto lap = [](auto from, auto to) { return std::chrono::duration<double, std::micro>(to - from).count(); };
  made->times.push_back({"emit", lap(began, emitted)});
  made->times.push_back({"compile", lap(emitted, compiled)});
  return std::shared_ptr<const CudaClassKernel>(std::move(made));
}

std::shared_ptr<const CudaClassKernel> CudaRowKernel::compiled(const Variant& v, std::int64_t cols) const {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = all_.equal_range(v);
  for (auto at = first; at != last; ++at) {
    const plan::WidthClass& width = at->second->plan.width;
    if (cols >= width.min_cols && cols <= width.max_cols) return at->second;
  }
  return nullptr;
}

Result<std::shared_ptr<const CudaClassKernel>> CudaRowKernel::kernel(const runtime::Call& call,
                                                                     std::optional<CUstream> stream) {
  const Variant v = variant(call);
  if (auto made = compiled(v, call.cols)) return made;
  if (stream) {
    LANEFOLD_TRY(const bool captured, runtime::is_captured(*device_.context(), *stream));
    if (captured)
      return Diagnostic{
          Code::capture_not_prepared,
          fmt::format("the stream is being captured, and {} has not been compiled yet for such calls of {} "
                      "rows and {} columns",
                      program_.name, call.rows, call.cols),
          "prepare the call before the capture begins", program_.name};
  }
  // Calls of other classes go on meanwhile.
  const std::lock_guard alone(compiling_);
  if (auto made = compiled(v, call.cols)) return made;
  LANEFOLD_TRY(std::shared_ptr<const CudaClassKernel> built, build(v, call.rows, call.cols));
  const std::lock_guard lock(mutex_);
  all_.emplace(v, built);
  return built;
}

Result<CudaRowKernel::Found> CudaRowKernel::find(const runtime::Call& call, std::optional<CUstream> stream) {
  Found found;
  if (call.rows == 0) return found;
  LANEFOLD_TRY(found.kernel, kernel(call, stream));
  LANEFOLD_TRY(found.shape, runtime::launch_shape(found.kernel->module.kernels[0], call.rows, call.cols));
  found.shape.shared_bytes = found.kernel->shared_bytes;
  return found;
}

Result<CudaRowKernel::Found> CudaRowKernel::accept(const runtime::Call& call, Memory memory,
                                                   std::optional<CUstream> stream) {
  LANEFOLD_CHECK(check_call(program_, call));
  if (auto refused = legality::program_violation(program_, options_.order, call.cols, device_.target()))
    return *refused;
  if (call.rows > 0 && memory == Memory::checked) LANEFOLD_CHECK(memory_.check(program_, call));
  if (call.rows > 0 && options_.plan && alignment_of(program_, call) < options_.plan->width.alignment)
    return Diagnostic{Code::call_misaligned,
                      fmt::format("the plan reads vectors of {} elements, but the rows of this call do not all begin "
                                  "at multiples of them",
                                  options_.plan->width.alignment),
                      "align the buffers and row strides, or let the call be planned", program_.name};
  return find(call, stream);
}

Result<CudaLaunch> CudaRowKernel::prepare(const runtime::Call& call, std::optional<CUstream> stream) {
  LANEFOLD_TRY(Found found, accept(call, Memory::anywhere, stream));
  CudaLaunch launch;
  if (!found.kernel) return launch;
  const lane::Kernel& kernel = found.kernel->module.kernels[0];
  launch.words.resize(kernel.arguments.size());
  runtime::fill_arguments(kernel, call, launch.words);
  launch.kernel = std::move(found.kernel);
  launch.shape = found.shape;
  return launch;
}

Status CudaRowKernel::compile(const runtime::Call& call, std::optional<CUstream> stream) {
  LANEFOLD_TRY(const Found found, accept(call, Memory::checked, stream));
  return success();
}

Status CudaRowKernel::launch(const CudaLaunch& launch, CUstream stream) const {
  if (!launch.kernel) return success();
  return device_.launch(*launch.kernel->kernel, launch.shape, launch.words, stream);
}

Status CudaRowKernel::launch(const runtime::Call& call, Found found, RememberedCall* remembered,
                             CUstream stream) const {
  if (!found.kernel) return success();
  const lane::Kernel& kernel = found.kernel->module.kernels[0];
  lane::ArgumentWord room[runtime::kMaxCudaArguments];
  const std::span<lane::ArgumentWord> words(room, kernel.arguments.size());
  runtime::fill_arguments(kernel, call, words);
  LANEFOLD_CHECK(device_.launch(*found.kernel->kernel, found.shape, words, stream));
  if (remembered != nullptr) remembered->keep(call, std::move(found.kernel), found.shape, words);
  return success();
}

Status CudaRowKernel::run(const runtime::Call& call, CUstream stream) {
  const RememberedCall::Hold own(remembered_);
  if (own && remembered_.fits(call)) return launch(remembered_.with(call.parameters), stream);
  LANEFOLD_TRY(Found found, accept(call, Memory::checked, stream));
  return launch(call, std::move(found), own ? &remembered_ : nullptr, stream);
}

Status CudaRowKernel::run_accepted(const runtime::Call& call, CUstream stream) {
  LANEFOLD_TRY(Found found, find(call, stream));
  return launch(call, std::move(found), nullptr, stream);
}

std::size_t CudaRowKernel::kernels() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

}  // namespace lanefold::driver
