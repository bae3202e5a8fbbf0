// A CUDA device that compiles, loads and launches kernels.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lane/module.h"
#include "runtime/cuda/binary_cache.h"
#include "runtime/cuda/buffer.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/stream.h"
#include "target/target.h"

namespace lanefold::runtime {

/// The most arguments that a kernel has: of 8 bytes each, what every device takes.
inline constexpr std::size_t kMaxCudaArguments = 512;

/// The threadgroups of a launch. CUDA's words: a grid of blocks of threads.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};   ///< threadgroups; where one is 0, nothing is launched
  std::array<std::uint32_t, 3> block = {1, 1, 1};  ///< lanes of a threadgroup
  std::uint32_t shared_bytes = 0;                  ///< dynamic threadgroup memory
  std::uint32_t cluster = 1;                       ///< threadgroups of a cluster, along the first axis
  /// The kernel may begin while the one before it in the stream still runs, and waits itself where it must.
  bool programmatic_dependent = false;
};

/// The launch of a lane module's kernel over so many rows and columns: its threadgroups along the first axis, in whole
/// clusters. launch_too_large where a device cannot number them.
Result<LaunchShape> launch_shape(const lane::Kernel& kernel, std::int64_t rows, std::int64_t cols);

/// A kernel of a module and what it must be able to do.
struct CudaKernelRequest {
  std::string name;
  std::uint32_t arguments = 0;     ///< their number
  std::uint32_t threads = 1;       ///< of the largest threadgroup
  std::uint32_t shared_bytes = 0;  ///< most dynamic threadgroup memory of a launch
  std::uint32_t cluster = 1;       ///< of the largest cluster
};
/// What a kernel of a lane module asks for, its threadgroup arrays aside: those are dynamic memory only if the source says so.
CudaKernelRequest kernel_request(const lane::Kernel& kernel);

/// A loaded binary. It stays loaded while anything holds it.
class CudaModule {
 public:
  const CudaBinary& binary() const { return binary_; }

 private:
  friend class CudaDevice;
  using Handle = CudaOwned<CUmodule, &cuda_api::Functions::module_unload>;
  CudaModule(CudaBinary binary, Handle handle) : binary_(std::move(binary)), handle_(std::move(handle)) {}
  CudaBinary binary_;
  Handle handle_;
};

/// A kernel that can be launched.
class CudaKernel {
 public:
  const CudaKernelRequest& request() const { return request_; }
  /// Registers, spills and memory.
  const ResourceUsage& usage() const { return usage_; }
  const CudaModule& module() const { return *module_; }

 private:
  friend class CudaDevice;
  CudaKernel(std::shared_ptr<const CudaModule> module, CUfunction function, CudaKernelRequest request,
             ResourceUsage usage)
      : module_(std::move(module)), function_(function), request_(std::move(request)), usage_(std::move(usage)) {}
  std::shared_ptr<const CudaModule> module_;
  CUfunction function_;
  CudaKernelRequest request_;
  ResourceUsage usage_;
};

/// An opened device. Cheap to copy; may be used by several threads at a time.
class CudaDevice {
 public:
  /// The device of that number, in its primary context. device_missing where there is none.
  static Result<CudaDevice> open(int ordinal = 0);
  static Result<CudaDevice> open(const CudaDriver& driver, int ordinal = 0);
  /// The device of the CUDA context that is current in this thread; one that is not primary must outlive what is made in it.
  static Result<CudaDevice> current();
  static Result<CudaDevice> current(const CudaDriver& driver);

  int ordinal() const { return context_->ordinal(); }
  const std::string& name() const { return name_; }
  /// The device's facts, with its own limits.
  const target::Target& target() const { return target_; }
  const std::shared_ptr<const CudaContext>& context() const { return context_; }

  /// Compiles the source for this device, or takes it from the cache, and loads it.
  Result<std::shared_ptr<const CudaModule>> build(const CudaSource& source,
                                                  const CudaBinaryCache& cache = CudaBinaryCache::user()) const;
  /// Loads machine code. object_damaged where it is none for this device.
  Result<std::shared_ptr<const CudaModule>> load(CudaBinary binary) const;
  /// A kernel of a module, with limits checked against the device: unknown_name, too_many_threads,
  /// threadgroup_memory_exceeded, cluster_too_large, launch_too_large for too many arguments.
  Result<std::shared_ptr<const CudaKernel>> kernel(std::shared_ptr<const CudaModule> module,
                                                   const CudaKernelRequest& request) const;
  /// build and kernel in one.
  Result<std::shared_ptr<const CudaKernel>> kernel(const CudaSource& source, const CudaKernelRequest& request,
                                                   const CudaBinaryCache& cache = CudaBinaryCache::user()) const;

  /// What keeps the device's kernels from memory at an address, as "is memory of the host"; empty where they reach it.
  Result<std::string> memory_fault(const void* address) const;

  /// Copies bytes at an address that the device's kernels reach to the host. Waits for the default stream and for CudaStreams.
  Status read(const void* address, std::span<std::byte> bytes) const;

  /// Puts a launch into the stream (null: the default one). Allocates nothing and waits for nothing. One word per argument,
  /// in order; another number of words than the kernel has is an internal error.
  Status launch(const CudaKernel& kernel, const LaunchShape& shape, std::span<const lane::ArgumentWord> words,
                CUstream stream) const;

  Result<CudaBuffer> allocate(std::size_t bytes) const { return CudaBuffer::create(context_, bytes); }
  Result<CudaStream> stream() const { return CudaStream::create(context_); }
  Result<CudaEvent> event() const { return CudaEvent::create(context_); }
  /// Records launches, see CudaGraph::capture.
  Result<CudaGraph> capture(CUstream stream, const CudaGraph::Record& record) const {
    return CudaGraph::capture(context_, stream, record);
  }
  /// Waits for all work of the context, and gives its errors.
  Status synchronize() const;

 private:
  CudaDevice(std::shared_ptr<const CudaContext> context, std::string name, target::Target target,
             bool reaches_host_memory)
      : context_(std::move(context)),
        name_(std::move(name)),
        target_(std::move(target)),
        reaches_host_memory_(reaches_host_memory) {}
  static Result<CudaDevice> describe(std::shared_ptr<const CudaContext> context);

  std::shared_ptr<const CudaContext> context_;
  std::string name_;
  target::Target target_;
  bool reaches_host_memory_ = false;
};

}  // namespace lanefold::runtime
