#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "api/options.h"
#include "api/test_calls.h"
#include "lanefold/lanefold.h"

namespace lanefold::api {
namespace {

Options with_pool(const Pool& pool) {
  Options result;
  result.pool = pool;
  result.disk_cache = false;
  return result;
}

TEST(FacadePool, KernelsShareItsThreads) {
  const Pool pool(2);
  EXPECT_LE(pool.threads(), 2u);
  const Pool copy = pool;
  const void* const own = PoolAccess::team(pool).get();
  EXPECT_EQ(PoolAccess::team(copy).get(), own);
  EXPECT_EQ(api::team(with_pool(copy)).get(), own);
  const Pool other(2);
  EXPECT_EQ(PoolAccess::team(other).get() != own, own != nullptr);
  // Without a pool, a kernel makes threads of its own.
  EXPECT_EQ(api::team(options()).get(), nullptr);
}

TEST(FacadePool, OutlivesItsLastHandleInKernels) {
  SmallNorm small;
  {
    const Pool pool(2);
    small.kernel = Kernel::compile_operator("rms_norm", Type::f32, with_pool(pool));
  }
  small.kernel.run({{"x", matrix(small.x, 2, 8)}, {"weight", per_column(small.weight, 8)}},
                   {{"y", matrix(small.y, 2, 8)}});
  EXPECT_NE(small.y[0], 0.0f);
}

TEST(FacadePool, NumbersOfThreads) {
  EXPECT_GE(Pool().threads(), 1u);
  expect_error(Code::number_invalid, [] { (void)Pool(1025); }, "threads");
  Options both = with_pool(Pool(2));
  both.threads = 2;
  expect_error(Code::number_invalid, [&] { (void)Kernel::compile_operator("sum", Type::f32, both); }, "threads");
}

TEST(FacadePool, ConcurrentCallsHaveTheBytesOfOneCall) {
  // Enough rows for a launch to be shared out; softmax keeps rows in threadgroup memory of the thread that works on them.
  constexpr std::int64_t kRows = 64, kCols = 1500, kSize = kRows * kCols;
  const Pool pool(4);
  const Kernel kernels[] = {Kernel::compile_operator("softmax", Type::f32, with_pool(pool)),
                            Kernel::compile_operator("rms_norm", Type::f32, with_pool(pool))};
  std::vector<float> x(kSize), weight(kCols, 0.5f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 101) / 16 - 3;
  const auto run = [&](std::size_t which, std::vector<float>& y) {
    std::vector<ConstMatrix> inputs = {matrix(x.data(), kRows, kCols)};
    if (which == 1) inputs.push_back(per_column(weight.data(), kCols));
    const Matrix outputs[] = {matrix(y.data(), kRows, kCols)};
    kernels[which].run(inputs, outputs, kRows, kCols);
  };
  std::vector<float> expected[2];
  for (std::size_t which : {0u, 1u}) {
    expected[which].resize(kSize);
    run(which, expected[which]);
  }
  const int rounds = kernels[0].device() == Device::cpu ? 50 : 1;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> y(kSize);
      for (int round = 0; round < rounds; ++round) {
        run(t % 2, y);
        if (y != expected[t % 2]) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lanefold::api
