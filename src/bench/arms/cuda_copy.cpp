#if LANEFOLD_CUDA
#include "bench/arms/cuda_copy.h"

#include <algorithm>

#include "bench/arms/cuda_sets.h"
#include "driver/streaming.h"

namespace lanefold::bench {
namespace {

constexpr std::int64_t kVector = 16;    // bytes that a thread copies
constexpr std::int64_t kThreads = 512;  // as in the source
constexpr double kBytesPerUs = 4e6;     // about what a fast device moves
constexpr const char* kSource = R"(
__device__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
extern "C" __global__ void __launch_bounds__(512) copy_cached(const float4* from, float4* to, long long count) {
  wait_for_launch_before();
  const long long at = blockIdx.x * 512ll + threadIdx.x;
  if (at < count) to[at] = from[at];
}
extern "C" __global__ void __launch_bounds__(512) copy_streaming(const float4* from, float4* to, long long count) {
  wait_for_launch_before();
  const long long at = blockIdx.x * 512ll + threadIdx.x;
  if (at < count) __stcs(to + at, from[at]);
}
)";

}  // namespace

Result<std::unique_ptr<CudaCopyArm>> CudaCopyArm::make(std::int64_t bytes, std::int64_t copies) {
  LANEFOLD_TRY(const runtime::CudaDevice device, runtime::CudaDevice::open());
  std::unique_ptr<CudaCopyArm> arm(new CudaCopyArm);
  const std::int64_t vectors = std::max<std::int64_t>(1, (bytes / 2 + kVector - 1) / kVector);
  arm->bytes_ = 2 * vectors * kVector;
  arm->copies_ = static_cast<std::uint64_t>(copies);
  arm->streaming_ = bytes >= driver::kCudaStreamingBytes;
  const char* name = arm->streaming_ ? "copy_streaming" : "copy_cached";
  CudaStep step;
  LANEFOLD_TRY(step.kernel,
               device.kernel({.text = kSource, .name = "copy.cu"},
                             {.name = name, .arguments = 3, .threads = static_cast<std::uint32_t>(kThreads)}));
  step.shape.grid[0] = static_cast<std::uint32_t>((vectors + kThreads - 1) / kThreads);
  step.shape.block[0] = static_cast<std::uint32_t>(kThreads);
  step.shape.programmatic_dependent = device.target().programmatic_launch;
  const std::size_t sets = sets_beyond_cache(arm->bytes_);
  for (std::size_t set = 0; set < sets; ++set) {
    std::vector<lane::ArgumentWord>& words = step.words.emplace_back(3);
    for (std::size_t b = 0; b < 2; ++b) {
      LANEFOLD_TRY(runtime::CudaBuffer buffer, device.allocate(static_cast<std::size_t>(vectors * kVector)));
      LANEFOLD_CHECK(buffer.fill(std::byte{1}));
      words[b].pointer = buffer.data();
      arm->memory_.push_back(std::move(buffer));
    }
    words[2].integer = vectors;
  }
  std::vector<CudaStep> steps;
  steps.push_back(std::move(step));
  LANEFOLD_TRY(arm->timer_,
               CudaTimer::create(device, std::move(steps), sets, static_cast<double>(arm->bytes_) / kBytesPerUs));
  return arm;
}

}  // namespace lanefold::bench
#endif
