#include "api/cuda_program.h"

#include <fmt/format.h>

#if LANEFOLD_CUDA
#include <algorithm>

#include "driver/call_check.h"
#include "driver/cuda/memory_check.h"
#include "driver/cuda/row_kernel.h"
#include "ir/stages.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/stream_memory.h"
#include "verify/staged_device.h"
#include "verify/staged_program.h"
#endif

namespace lanefold::api {

#if LANEFOLD_CUDA
namespace {

CUstream handle_of(Stream stream) { return static_cast<CUstream>(stream.handle); }
std::optional<CUstream> handle_of(const std::optional<Stream>& stream) {
  return stream ? std::optional(handle_of(*stream)) : std::nullopt;
}

/// A copy of what a view reaches, gaps too, and the view of it.
Result<View> copied(const runtime::CudaDevice& device, View view, std::vector<std::byte>& memory) {
  if (view.rows == 0 || view.cols == 0) return view;
  const std::byte *begin = view.data, *end = view.data;
  for (const std::int64_t row : {std::int64_t{0}, view.rows - 1})
    for (const std::int64_t column : {std::int64_t{0}, view.cols - 1}) {
      const std::byte* const at = view.at(row, column);
      begin = std::min(begin, at);
      end = std::max(end, at + element_bytes(view.type));
    }
  memory.resize(static_cast<std::size_t>(end - begin));
  LANEFOLD_CHECK(device.read(begin, memory));
  view.data = memory.data() + (view.data - begin);
  return view;
}

/// What rows alone and rows in stages have in common.
class OnDevice : public CudaProgram {
 public:
  const target::Target& target() const override { return device_.target(); }
  int ordinal() const override { return device_.ordinal(); }

  Result<HostCall> on_host(const runtime::Call& call) override {
    LANEFOLD_CHECK(driver::check_call(program(), call));
    LANEFOLD_CHECK(check_memory(call));
    LANEFOLD_CHECK(device_.synchronize());
    HostCall host;
    for (const View& view : call.inputs) {
      LANEFOLD_TRY(host.inputs.emplace_back(), copied(device_, view, host.memory.emplace_back()));
    }
    for (const View& view : call.outputs) {
      LANEFOLD_TRY(host.outputs.emplace_back(), copied(device_, view, host.memory.emplace_back()));
    }
    host.call = call;
    host.call.inputs = host.inputs;
    host.call.outputs = host.outputs;
    return host;
  }

 protected:
  explicit OnDevice(runtime::CudaDevice device) : device_(std::move(device)), memory_(device_) {}
  virtual const ir::Program& program() const = 0;
  const runtime::CudaDevice& device() const { return device_; }
  Status check_memory(const runtime::Call& call) { return memory_.check(program(), call); }

 private:
  runtime::CudaDevice device_;
  driver::MemoryCheck memory_;
};

class OneKernel final : public OnDevice {
 public:
  OneKernel(runtime::CudaDevice device, std::unique_ptr<driver::CudaRowKernel> kernel)
      : OnDevice(std::move(device)), kernel_(std::move(kernel)) {}

  Status run(const runtime::Call& call, Stream stream) override { return kernel_->run(call, handle_of(stream)); }
  Status run_prepared(const runtime::Call& call, Stream stream) override {
    return kernel_->run_accepted(call, handle_of(stream));
  }
  Status prepare(const runtime::Call& call, const std::optional<Stream>& stream) override {
    return kernel_->compile(call, handle_of(stream));
  }

 private:
  const ir::Program& program() const override { return kernel_->program(); }

  std::unique_ptr<driver::CudaRowKernel> kernel_;
};

/// Stages follow each other in the stream. What they hand on lies in memory that the stream takes and gives back.
class InStages final : public OnDevice {
 public:
  InStages(runtime::CudaDevice device, verify::StagedProgram staged,
           std::vector<std::unique_ptr<driver::CudaRowKernel>> kernels)
      : OnDevice(std::move(device)), staged_(std::move(staged)), kernels_(std::move(kernels)) {}

  Status run(const runtime::Call& call, Stream stream) override {
    // Nothing is launched by the first stage where a later one would be refused.
    LANEFOLD_CHECK(prepare(call, stream));
    return run_prepared(call, stream);
  }

  Status run_prepared(const runtime::Call& call, Stream stream) override {
    LANEFOLD_TRY(const runtime::CudaStreamMemory memory,
                 runtime::CudaStreamMemory::create(device().context(), staged_.between_bytes(call.rows, call.cols),
                                                   handle_of(stream)));
    return each_stage(call, memory.data(), [&](driver::CudaRowKernel& kernel, const runtime::Call& stage) {
      return kernel.run_accepted(stage, handle_of(stream));
    });
  }

  Status prepare(const runtime::Call& call, const std::optional<Stream>& stream) override {
    LANEFOLD_CHECK(staged_.check(call));
    LANEFOLD_CHECK(check_memory(call));
    // An address that no memory has, aligned as memory of the device is: the kernels are the same.
    auto* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{256});
    return each_stage(call, nowhere, [&](driver::CudaRowKernel& kernel, const runtime::Call& stage) -> Status {
      LANEFOLD_TRY(const driver::CudaLaunch launch, kernel.prepare(stage, handle_of(stream)));
      return success();
    });
  }

 private:
  const ir::Program& program() const override { return staged_.program(); }

  template <class Visit>
  Status each_stage(const runtime::Call& call, std::byte* memory, const Visit& visit) {
    const std::vector<View> between = staged_.between(call.rows, call.cols, memory);
    for (std::size_t s = 0; s < kernels_.size(); ++s) {
      const ir::Stage& stage = staged_.stages()[s];
      const verify::StageCall own(stage, call, between);
      if (const Status done = visit(*kernels_[s], own.call); !done) return verify::in_stage(done.error(), stage);
    }
    return success();
  }

  verify::StagedProgram staged_;
  std::vector<std::unique_ptr<driver::CudaRowKernel>> kernels_;
};

Result<runtime::CudaDevice> device_of(const Options& options) {
  LANEFOLD_TRY(const runtime::CudaDriver* driver, runtime::CudaDriver::get());
  if (options.cuda_device) return runtime::CudaDevice::open(*driver, *options.cuda_device);
  return runtime::CudaContext::is_any_current(*driver) ? runtime::CudaDevice::current(*driver)
                                                       : runtime::CudaDevice::open(*driver, 0);
}

}  // namespace

Result<std::unique_ptr<CudaProgram>> open_cuda(ir::Program program, const Options& options, ir::Order order) {
  LANEFOLD_TRY(const runtime::CudaDevice device, device_of(options));
  if (const auto compiler = runtime::Nvrtc::get(); !compiler) return compiler.error();
  driver::CudaCompileOptions compile;
  compile.order = order;
  if (!options.disk_cache) {
    compile.cache = runtime::CudaBinaryCache(std::nullopt);
    compile.tuned = driver::TunedPlans(std::nullopt);
  }
  if (!ir::needs_stages(program)) {
    LANEFOLD_TRY(auto kernel, driver::CudaRowKernel::create(std::move(program), device, std::move(compile)));
    return std::unique_ptr<CudaProgram>(std::make_unique<OneKernel>(device, std::move(kernel)));
  }
  verify::StagedProgram staged(std::move(program), order, device.target());
  std::vector<std::unique_ptr<driver::CudaRowKernel>> kernels;
  for (const ir::Stage& stage : staged.stages()) {
    LANEFOLD_TRY(kernels.emplace_back(), driver::CudaRowKernel::create(stage.program, device, compile));
  }
  return std::unique_ptr<CudaProgram>(std::make_unique<InStages>(device, std::move(staged), std::move(kernels)));
}
#else
Result<std::unique_ptr<CudaProgram>> open_cuda(ir::Program, const Options&, ir::Order) {
  return Diagnostic{Code::device_missing, "this build has no CUDA runtime", "configure with -DLANEFOLD_CUDA=ON",
                    "device"};
}
#endif

}  // namespace lanefold::api
