// What a launch costs the host: of a call that is checked each time, of one that was prepared, and of a recorded graph.
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "driver/cuda/row_kernel.h"
#include "kernels/registry.h"
#include "verify/cuda_copies.h"
#include "verify/standard_inputs.h"

namespace lanefold {
namespace {

constexpr int kSamples = 2000;

/// The median, in microseconds of the host, of what `launch` takes to return.
template <class Launch>
Result<double> median(const runtime::CudaDevice& device, Launch&& launch) {
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    LANEFOLD_CHECK(launch());
    samples.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    // An empty queue, so that no launch waits for room in it.
    LANEFOLD_CHECK(device.synchronize());
  }
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

Status run() {
  constexpr std::int64_t kRows = 16, kCols = 4096;
  LANEFOLD_TRY(const runtime::CudaDevice device, verify::shared_cuda_device());
  LANEFOLD_TRY(const ir::Program program, kernels::build(*kernels::find("rms_norm"), ElementType::f32));
  LANEFOLD_TRY(const auto kernel, driver::CudaRowKernel::create(program, device, {}));
  LANEFOLD_TRY(const runtime::CudaBuffer memory, device.allocate((2 * kRows + 1) * kCols * sizeof(float)));
  const auto view = [&](std::int64_t row, std::int64_t rows) {
    return View{static_cast<std::byte*>(memory.data()) + row * kCols * 4, ElementType::f32, rows, kCols, kCols, 1};
  };
  const std::vector<View> inputs = {view(0, kRows), view(2 * kRows, 1)}, outputs = {view(kRows, kRows)};
  const std::vector<float> parameters = verify::default_parameters(program);
  const runtime::Call call = {
      .inputs = inputs, .outputs = outputs, .parameters = parameters, .rows = kRows, .cols = kCols};
  LANEFOLD_TRY(const runtime::CudaStream stream, device.stream());
  LANEFOLD_CHECK(kernel->run(call, stream.handle()));
  LANEFOLD_TRY(const double checked, median(device, [&] { return kernel->run(call, stream.handle()); }));
  LANEFOLD_TRY(const driver::CudaLaunch launch, kernel->prepare(call));
  LANEFOLD_TRY(const double prepared, median(device, [&] { return kernel->launch(launch, stream.handle()); }));
  LANEFOLD_TRY(const runtime::CudaGraph graph,
               device.capture(stream.handle(), [&](CUstream s) { return kernel->launch(launch, s); }));
  LANEFOLD_TRY(const double replayed, median(device, [&] { return graph.launch(stream.handle()); }));
  fmt::print("host time of a launch on {}, median of {}: {:.2f} us checked, {:.2f} us prepared, {:.2f} us as a graph\n",
             device.name(), kSamples, checked, prepared, replayed);
  return success();
}

}  // namespace
}  // namespace lanefold

int main() {
  const lanefold::Status status = lanefold::run();
  if (!status) fmt::print(stderr, "{}\n", status.error().text());
  return status.ok() ? 0 : 2;
}
