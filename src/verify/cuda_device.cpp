#include "verify/cuda_device.h"

#include <algorithm>

#include <fmt/format.h>

#if LANEFOLD_CUDA
#include "driver/cuda/row_kernel.h"
#include "verify/cuda_copies.h"
#endif

namespace lanefold::verify {

#if LANEFOLD_CUDA
namespace {

/// The bytes that a view reaches.
HostBytes reach(const View& view, bool written) {
  if (view.rows == 0 || view.cols == 0) return {{}, written};
  std::byte *begin = view.data, *end = view.data;
  for (const std::int64_t row : {std::int64_t{0}, view.rows - 1})
    for (const std::int64_t column : {std::int64_t{0}, view.cols - 1}) {
      std::byte* const at = view.at(row, column);
      begin = std::min(begin, at);
      end = std::max(end, at + element_bytes(view.type));
    }
  return {{begin, end}, written};
}

class Cuda final : public Device {
 public:
  Cuda(std::unique_ptr<driver::CudaRowKernel> kernel) : kernel_(std::move(kernel)) {}

  Status run(const runtime::Call& call) override {
    LANEFOLD_CHECK(driver::check_call(kernel_->program(), call));
    std::vector<HostBytes> reached;
    for (const View& view : call.inputs) reached.push_back(reach(view, false));
    for (const View& view : call.outputs) reached.push_back(reach(view, true));
    LANEFOLD_TRY(const CudaCopies copies, CudaCopies::make(kernel_->device(), reached));
    const auto moved = [&](View view) {
      view.data = copies.on_device(view.data);
      return view;
    };
    std::vector<View> inputs, outputs;
    for (const View& view : call.inputs) inputs.push_back(moved(view));
    for (const View& view : call.outputs) outputs.push_back(moved(view));
    runtime::Call there = call;
    there.inputs = inputs;
    there.outputs = outputs;
    LANEFOLD_CHECK(kernel_->run(there, nullptr));
    return copies.bring_back();
  }

  Result<plan::Plan> plan(const runtime::Call& call) override {
    LANEFOLD_TRY(const driver::CudaLaunch launch, kernel_->prepare(call));
    if (launch.kernel) return launch.kernel->plan;
    plan::Request request;
    request.rows = call.rows;
    request.cols = call.cols;
    return plan::choose(kernel_->program(), kernel_->device().target(), request);
  }

 private:
  std::unique_ptr<driver::CudaRowKernel> kernel_;
};

}  // namespace

Status cuda_available() {
  LANEFOLD_TRY(const runtime::CudaDevice device, shared_cuda_device());
  return success();
}

Result<target::Target> cuda_target() {
  LANEFOLD_TRY(const runtime::CudaDevice device, shared_cuda_device());
  return device.target();
}

Status check_cuda_target(const target::Target& target) {
  LANEFOLD_TRY(const runtime::CudaDevice device, shared_cuda_device());
  // The host's target stands for "none was named".
  if (target.name == target::host().name || target.name == device.target().name) return success();
  return Diagnostic{Code::target_not_here,
                    fmt::format("{} is {}, not {}", device.name(), device.target().name, target.name),
                    "use --device lane-machine, which runs every target", "--target"};
}

Result<std::unique_ptr<Device>> open_cuda(ir::Program program, const DeviceOptions& options) {
  LANEFOLD_TRY(runtime::CudaDevice device, shared_cuda_device());
  LANEFOLD_CHECK(check_cuda_target(options.target));
  driver::CudaCompileOptions compile;
  compile.order = options.order;
  compile.cost_basis = options.cost_basis;
  compile.plan = options.plan;
  compile.layout = options.layout;
  compile.stripe = options.stripe;
  if (!options.disk_cache) compile.cache = runtime::CudaBinaryCache(std::nullopt);
  if (!options.disk_cache || !options.tuned) compile.tuned = driver::TunedPlans(std::nullopt);
  LANEFOLD_TRY(auto kernel, driver::CudaRowKernel::create(std::move(program), std::move(device), std::move(compile)));
  return std::unique_ptr<Device>(std::make_unique<Cuda>(std::move(kernel)));
}
#else
namespace {

Diagnostic left_out() {
  return Diagnostic{Code::device_missing, "this build has no CUDA runtime", "configure with -DLANEFOLD_CUDA=ON",
                    "--device"};
}

}  // namespace

Status cuda_available() { return left_out(); }
Result<target::Target> cuda_target() { return left_out(); }
Status check_cuda_target(const target::Target&) { return left_out(); }
Result<std::unique_ptr<Device>> open_cuda(ir::Program, const DeviceOptions&) { return left_out(); }
#endif

}  // namespace lanefold::verify
