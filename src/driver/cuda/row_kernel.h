// A row program ready to run on a CUDA device: one compiled kernel per class of calls, made on first use.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver/call_check.h"
#include "driver/cuda/memory_check.h"
#include "driver/cuda/remembered_call.h"
#include "driver/pipeline.h"
#include "driver/tuned_plans.h"
#include "ir/names.h"
#include "runtime/common/launch.h"
#include "runtime/cuda/device.h"

namespace lanefold::driver {

/// How a program is compiled for a CUDA device.
struct CudaCompileOptions {
  ir::Order order = ir::Order::canonical;
  std::string cost_basis;              ///< empty: the target's own
  std::optional<plan::Plan> plan;      ///< use exactly this plan; calls that it does not serve are refused
  std::optional<plan::Layout> layout;  ///< force this layout
  std::optional<plan::Stripe> stripe;  ///< force this stripe
  runtime::CudaBinaryCache cache = runtime::CudaBinaryCache::user();
  TunedPlans tuned = TunedPlans::user();  ///< asked where nothing above but the order is given
};

/// What plans for the device are measured on; device_missing where there is no compiler.
Result<TunedOn> tuned_on_cuda(const runtime::CudaDevice& device);

/// The kernel of one class of calls.
struct CudaClassKernel {
  plan::Plan plan;
  lane::Module module;
  std::string source;  ///< the CUDA text that was compiled
  std::shared_ptr<const runtime::CudaKernel> kernel;
  std::uint32_t shared_bytes = 0;                   ///< dynamic
  std::vector<std::uint32_t> parameter_words = {};  ///< which argument each parameter is
  std::vector<PhaseTime> times;
};

/// May be used from several threads at once.
class CudaRowKernel {
 public:
  static Result<std::unique_ptr<CudaRowKernel>> create(ir::Program program, runtime::CudaDevice device,
                                                       CudaCompileOptions options);

  const ir::Program& program() const { return program_; }
  const runtime::CudaDevice& device() const { return device_; }

  /// Puts the program over the views into the stream (null: the default one). Waits for nothing, and allocates nothing once the
  /// class is compiled. A call of the same views as the last one skips the checks, among them that kernels reach the views'
  /// memory (call_not_on_device, see MemoryCheck). A class that is not compiled yet is refused while the stream is captured
  /// (capture_not_prepared).
  Status run(const runtime::Call& call, CUstream stream);
  /// The same of a call that compile() or prepare() has just accepted, without looking at it again.
  Status run_accepted(const runtime::Call& call, CUstream stream);
  /// Compiles the call's class now; refuses what run() refuses, and what it would refuse in the stream, where one is given.
  Status compile(const runtime::Call& call, std::optional<CUstream> stream = std::nullopt);
  /// The checked call, wherever its views lie; its launch then costs no more than the driver takes. Where a stream is given and
  /// captured, a class that is not compiled yet is refused.
  Result<CudaLaunch> prepare(const runtime::Call& call, std::optional<CUstream> stream = std::nullopt);
  Status launch(const CudaLaunch& launch, CUstream stream) const;
  /// Kernels compiled or loaded so far.
  std::size_t kernels() const;

 private:
  /// One bit for each input or output.
  using Ports = std::uint64_t;
  static_assert(ir::kMaxNames <= 64);
  /// What distinguishes kernels beside the class of widths.
  struct Variant {
    std::uint32_t alignment = 1;
    std::uint32_t row_class = 0;  ///< how many rows share the device
    bool streaming = false;
    Ports strided_inputs = 0, strided_outputs = 0, packed_inputs = 0, packed_outputs = 0;
    friend auto operator<=>(const Variant&, const Variant&) = default;
  };
  /// A call's kernel, and how it is launched; no kernel: nothing to do.
  struct Found {
    std::shared_ptr<const CudaClassKernel> kernel;
    runtime::LaunchShape shape;
  };

  CudaRowKernel(ir::Program program, runtime::CudaDevice device, CudaCompileOptions options);
  Variant variant(const runtime::Call& call) const;
  enum class Memory : std::uint8_t { anywhere, checked };
  Result<Found> accept(const runtime::Call& call, Memory memory, std::optional<CUstream> stream);
  Result<Found> find(const runtime::Call& call, std::optional<CUstream> stream);
  Status launch(const runtime::Call& call, Found found, RememberedCall* remembered, CUstream stream) const;
  std::shared_ptr<const CudaClassKernel> compiled(const Variant& variant, std::int64_t cols) const;
  Result<std::shared_ptr<const CudaClassKernel>> kernel(const runtime::Call& call, std::optional<CUstream> stream);
  Result<std::shared_ptr<const CudaClassKernel>> build(const Variant& variant, std::int64_t rows,
                                                       std::int64_t cols) const;
  /// A plan that was measured to be faster than the cost basis's own, where the kernel plans by itself.
  std::optional<plan::Plan> tuned_plan(const Variant& variant, std::int64_t rows, std::int64_t cols) const;

  ir::Program program_;
  runtime::CudaDevice device_;
  CudaCompileOptions options_;
  std::int64_t element_bytes_ = 0;  ///< read and written per column of a row
  std::mutex compiling_;            ///< held by the one thread that compiles, before mutex_
  mutable std::mutex mutex_;        ///< of all_
  std::multimap<Variant, std::shared_ptr<const CudaClassKernel>> all_;
  MemoryCheck memory_;
  RememberedCall remembered_;
};

/// Compiles a lowered program for the device.
Result<std::shared_ptr<const CudaClassKernel>> compile_for(const runtime::CudaDevice& device, Lowered lowered,
                                                           const runtime::CudaBinaryCache& cache);

}  // namespace lanefold::driver
