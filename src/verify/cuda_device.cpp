#include "verify/cuda_device.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#if LANEFOLD_CUDA
#include "driver/cuda/row_kernel.h"
#endif

namespace lanefold::verify {

#if LANEFOLD_CUDA
namespace {

constexpr std::uintptr_t kAlignment = 256;  // of allocations on the device

/// Host memory that views reach, and its copy on the device.
struct Region {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  bool written = false;
  std::optional<runtime::CudaBuffer> buffer;

  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  /// Bytes from the buffer's start, so that the copy is aligned as the original is.
  std::size_t offset() const { return std::bit_cast<std::uintptr_t>(begin) % kAlignment; }
};

/// The bytes that a view reaches.
Region reach(const View& view, bool written) {
  Region region{view.data, view.data, written, {}};
  if (view.rows == 0 || view.cols == 0) return region;
  for (const std::int64_t row : {std::int64_t{0}, view.rows - 1})
    for (const std::int64_t column : {std::int64_t{0}, view.cols - 1}) {
      std::byte* const at = view.at(row, column);
      region.begin = std::min(region.begin, at);
      region.end = std::max(region.end, at + element_bytes(view.type));
    }
  return region;
}

/// Regions that touch become one.
std::vector<Region> joined(std::vector<Region> regions) {
  std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) { return a.begin < b.begin; });
  std::vector<Region> all;
  for (Region& region : regions) {
    if (region.begin == region.end) continue;
    if (all.empty() || region.begin >= all.back().end) {
      all.push_back(std::move(region));
      continue;
    }
    all.back().end = std::max(all.back().end, region.end);
    all.back().written = all.back().written || region.written;
  }
  return all;
}

class Cuda final : public Device {
 public:
  Cuda(std::unique_ptr<driver::CudaRowKernel> kernel) : kernel_(std::move(kernel)) {}

  Status run(const runtime::Call& call) override {
    LANEFOLD_CHECK(driver::check_call(kernel_->program(), call));
    std::vector<Region> reached;
    for (const View& view : call.inputs) reached.push_back(reach(view, false));
    for (const View& view : call.outputs) reached.push_back(reach(view, true));
    std::vector<Region> regions = joined(std::move(reached));
    const runtime::CudaDevice& device = kernel_->device();
    for (Region& region : regions) {
      LANEFOLD_TRY(runtime::CudaBuffer buffer, device.allocate(region.offset() + region.size()));
      LANEFOLD_CHECK(buffer.write({region.begin, region.size()}, region.offset()));
      region.buffer.emplace(std::move(buffer));
    }
    const auto moved = [&](View view) {
      for (const Region& region : regions)
        if (view.data >= region.begin && view.data < region.end)
          view.data = static_cast<std::byte*>(region.buffer->data()) + region.offset() + (view.data - region.begin);
      return view;
    };
    std::vector<View> inputs, outputs;
    for (const View& view : call.inputs) inputs.push_back(moved(view));
    for (const View& view : call.outputs) outputs.push_back(moved(view));
    runtime::Call there = call;
    there.inputs = inputs;
    there.outputs = outputs;
    LANEFOLD_CHECK(kernel_->run(there, nullptr));
    LANEFOLD_CHECK(device.synchronize());
    for (const Region& region : regions)
      if (region.written) LANEFOLD_CHECK(region.buffer->read({region.begin, region.size()}, region.offset()));
    return success();
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
  LANEFOLD_TRY(const runtime::CudaDevice device, runtime::CudaDevice::open());
  return success();
}

Result<target::Target> cuda_target() {
  LANEFOLD_TRY(const runtime::CudaDevice device, runtime::CudaDevice::open());
  return device.target();
}

Result<std::unique_ptr<Device>> open_cuda(ir::Program program, const DeviceOptions& options) {
  LANEFOLD_TRY(runtime::CudaDevice device, runtime::CudaDevice::open());
  // The host's target stands for "none was named".
  if (options.target.name != target::host().name && options.target.name != device.target().name)
    return Diagnostic{Code::target_not_here,
                      fmt::format("{} is {}, not {}", device.name(), device.target().name, options.target.name),
                      "use --device lane-machine, which runs every target", "--target"};
  driver::CudaCompileOptions compile;
  compile.order = options.order;
  compile.cost_basis = options.cost_basis;
  compile.plan = options.plan;
  compile.layout = options.layout;
  compile.stripe = options.stripe;
  if (!options.disk_cache) compile.cache = runtime::CudaBinaryCache(std::nullopt);
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
Result<std::unique_ptr<Device>> open_cuda(ir::Program, const DeviceOptions&) { return left_out(); }
#endif

}  // namespace lanefold::verify
