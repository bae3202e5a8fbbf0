// The fast path is called once per layer and token: it may not allocate.
#ifndef __SANITIZE_ADDRESS__  // which has an operator new of its own

#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "lanefold/lanefold.h"
#if LANEFOLD_CUDA
#include "api/test_cuda.h"
#endif

namespace {
thread_local std::size_t allocations = 0;
}

// These count; they serve the whole test program. Not inlined: the compiler would see malloc's memory deleted.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace lanefold {
namespace {

TEST(FacadeAllocation, PositionalCallsAllocateNothing) {
  for (const unsigned threads : {1u, 2u}) {
    Options options;
    options.threads = threads;
    options.disk_cache = false;
    const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options);
    if (kernel.device() != Device::cpu) GTEST_SKIP() << "the lane machine lowers anew for each call";
    constexpr std::int64_t kRows = 400;  // enough for a second thread to help
    std::vector<float> x(kRows * 200, 1.0f), weight(200, 1.0f), y(x.size());
    const auto run = [&](std::int64_t cols) {
      const ConstMatrix inputs[] = {matrix(x.data(), kRows, cols), per_column(weight.data(), cols)};
      const Matrix outputs[] = {matrix(y.data(), kRows, cols)};
      const float parameters[] = {1e-6f, 0.0f};
      kernel.run(inputs, outputs, kRows, cols, parameters);
    };
    allocations = 0;
    run(200);
    EXPECT_GT(allocations, 0u) << "nothing is counted";
    allocations = 0;
    for (std::int64_t cols = 129; cols <= 200; ++cols) run(cols);
    EXPECT_EQ(allocations, 0u) << threads << " threads";
  }
}

TEST(FacadeAllocation, CallsOnTensorsAllocateNothing) {
  Options options;
  options.threads = 1;
  options.disk_cache = false;
  const Kernel kernel = Kernel::compile_operator("residual_norm", Type::f32, options);
  if (kernel.device() != Device::cpu) GTEST_SKIP() << "the lane machine lowers anew for each call";
  // Rows that do not join: three launches.
  std::vector<float> x(3 * 2000), weight(200, 1.0f), y(3 * 5 * 200), sum(y.size());
  const ConstTensor rows = strided(x.data(), {3, 5, 200}, {2000, 200, 1});
  std::vector<ConstTensor> inputs;
  std::vector<Tensor> outputs;
  for (const Port& input : kernel.inputs())
    inputs.push_back(input.kind == Kind::column ? dense(weight.data(), {200}) : rows);
  for (std::size_t o = 0; o < kernel.outputs().size(); ++o)
    outputs.push_back(dense(o == 0 ? y.data() : sum.data(), {3, 5, 200}));
  kernel.run(inputs, outputs);
  allocations = 0;
  kernel.run(inputs, outputs);
  EXPECT_EQ(allocations, 0u);
}

#if LANEFOLD_CUDA
using FacadeAllocationOnCuda = api::FacadeOnCuda;

TEST_F(FacadeAllocationOnCuda, CallsAllocateNothing) {
  const Kernel kernel = norm();
  const runtime::CudaStream stream = new_stream();
  api::NormCall memory(40, 64);
  // Two calls in turn, so that each is checked, and rows that do not join: three launches.
  const std::vector<ConstMatrix> inputs[] = {{matrix(memory.x(), 10, 64), per_column(memory.weight(), 64)},
                                             {matrix(memory.at(64), 10, 64), per_column(memory.weight(), 64)}};
  const std::vector<Matrix> outputs = {matrix(memory.y(), 10, 64)};
  const std::vector<ConstTensor> tensors = {strided(memory.x(), {3, 5, 64}, {640, 64, 1}),
                                            dense(memory.weight(), {64})};
  const std::vector<Tensor> stored = {dense(memory.y(), {3, 5, 64})};
  const auto run = [&] {
    for (const auto& given : inputs) kernel.run(given, outputs, 10, 64, {}, {stream.handle()});
    kernel.run(tensors, stored, {}, {stream.handle()});
  };
  run();
  EXPECT_EQ(state().launches.size(), 5u);
  state().silent = true;
  allocations = 0;
  run();
  EXPECT_EQ(allocations, 0u);
  state().silent = false;
}
#endif

}  // namespace
}  // namespace lanefold

#endif
