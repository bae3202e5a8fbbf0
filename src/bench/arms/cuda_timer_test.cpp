#if LANEFOLD_CUDA
#include "bench/arms/cuda_timer.h"

#include <cstring>

#include "bench/arms/cuda_sets.h"
#include "runtime/cuda/test_fake_driver.h"

namespace lanefold::bench {
namespace {

using runtime::CudaDevice;

class CudaTimerTest : public runtime::fake::FakeDriverTest {
 protected:
  /// A step that adds one to the i32 of each set.
  CudaStep adding(const CudaDevice& device, std::size_t sets) {
    CudaStep step;
    step.kernel = kernel(device, "add_one p 64 0 8", {.name = "add_one", .arguments = 1, .threads = 32});
    step.shape.block[0] = 32;
    counts_.assign(sets, 0);
    for (std::size_t set = 0; set < sets; ++set) {
      step.words.emplace_back(1);
      step.words.back()[0].pointer = &counts_[set];
    }
    return step;
  }
  std::unique_ptr<CudaTimer> timer(const CudaDevice& device, std::size_t sets, double call_us) {
    std::vector<CudaStep> steps;
    steps.push_back(adding(device, sets));
    auto made = CudaTimer::create(device, std::move(steps), sets, call_us);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }
  std::vector<int> counts_;
};

TEST_F(CudaTimerTest, CallsTakeTheSetsInTurn) {
  const CudaDevice device = this->device();
  const auto timer = this->timer(device, 3, 150);
  EXPECT_EQ(timer->recorded(), 6u);  // a millisecond of calls, in whole turns of the sets
  const Result<Timing> timing = timer->run(2 * 6 + 4);
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(counts_, (std::vector<int>{6, 5, 5}));
  EXPECT_GT(timing->wall_ns, 0);
  EXPECT_TRUE(timing->device_ns.has_value());
  EXPECT_EQ(calls_of("cuGraphLaunch"), 3);
  EXPECT_EQ(calls_of("cuStreamBeginCapture_v2"), 2);
}

TEST_F(CudaTimerTest, WhatIsRecordedIsReplayedAgain) {
  const CudaDevice device = this->device();
  const auto timer = this->timer(device, 2, 1000);
  for (const std::uint64_t calls : {5u, 5u, 7u, 4u}) ASSERT_TRUE(timer->run(calls).ok());
  EXPECT_EQ(counts_[0] + counts_[1], 21);
  EXPECT_EQ(calls_of("cuStreamBeginCapture_v2"), 2);  // two calls, and one
  ASSERT_TRUE(timer->run(0).ok());
  EXPECT_EQ(counts_[0] + counts_[1], 21);
}

TEST_F(CudaTimerTest, OneCallIsForTheFirstSet) {
  const CudaDevice device = this->device();
  const auto timer = this->timer(device, 2, 1);
  ASSERT_TRUE(timer->once().ok());
  EXPECT_EQ(counts_, (std::vector<int>{1, 0}));
  EXPECT_EQ(calls_of("cuGraphLaunch"), 0);
}

TEST_F(CudaTimerTest, CallsOfSeveralLaunchesKeepTheirOrder) {
  const CudaDevice device = this->device();
  std::vector<CudaStep> steps;
  steps.push_back(adding(device, 2));
  CudaStep store;
  store.kernel = kernel(device, "store pq 64 0 8", {.name = "store", .arguments = 2, .threads = 32});
  store.shape.block[0] = 32;
  int last[2] = {};
  for (int& value : last) {
    store.words.emplace_back(2);
    store.words.back()[0].pointer = &value;
    store.words.back()[1].integer = 40 + (&value - last);
  }
  steps.push_back(std::move(store));
  auto timer = CudaTimer::create(device, std::move(steps), 2, 1000);
  ASSERT_TRUE(timer.ok());
  ASSERT_TRUE((*timer)->run(2).ok());
  EXPECT_EQ(last[0], 40);
  EXPECT_EQ(last[1], 41);
  std::string order;
  for (const runtime::fake::Launch& launch : state().launches) order += launch.kernel[0];
  EXPECT_EQ(order, "asas");
}

TEST_F(CudaTimerTest, TheHostsShareIsSampled) {
  const CudaDevice device = this->device();
  const auto timer = this->timer(device, 2, 1);
  const auto times = timer->enqueue_us(3);
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(times->size(), 3u);
  for (const double us : *times) EXPECT_GE(us, 0);
}

TEST_F(CudaTimerTest, AKernelThatGoesWrongFailsTheRun) {
  const CudaDevice device = this->device();
  const auto timer = this->timer(device, 2, 1);
  state().next_launch_goes_wrong = runtime::cuda_api::kIllegalAddress;
  EXPECT_FALSE(timer->run(3).ok());
  state().lost = 0;  // so that the test may give everything back
}

TEST_F(CudaTimerTest, SetsHoldCopiesAndGiveTheFirstOnesOutputsBack) {
  const CudaDevice device = this->device();
  verify::ModuleMemory memory(
      {{"x", lane::Role::input, 0, ElementType::i32, {4}}, {"y", lane::Role::output, 0, ElementType::f32, {2, 3}}});
  std::memset(memory.view(0).data, 7, 16);
  const auto sets = CudaSets::create(device, memory, 3);
  ASSERT_TRUE(sets.ok());
  ASSERT_TRUE((*sets)->upload(memory).ok());
  for (std::size_t set = 0; set < 3; ++set) {
    EXPECT_EQ(std::memcmp((*sets)->data(set, 0), memory.view(0).data, 16), 0);
    EXPECT_EQ(std::memcmp((*sets)->data(set, 1), memory.view(1).data, 24), 0);
  }
  std::memset((*sets)->data(0, 0), 1, 16);
  std::memset((*sets)->data(0, 1), 9, 24);
  std::memset((*sets)->data(1, 1), 3, 24);
  ASSERT_TRUE((*sets)->fetch(memory).ok());
  EXPECT_EQ(memory.bytes(0), std::vector<std::byte>(16, std::byte{7}));
  EXPECT_EQ(memory.bytes(1), std::vector<std::byte>(24, std::byte{9}));
  EXPECT_EQ(memory.overwritten(), "");
}

TEST_F(CudaTimerTest, SetsExceedTheCacheTogether) {
  EXPECT_EQ(sets_beyond_cache(std::int64_t{4} << 30), 2u);
  EXPECT_EQ(sets_beyond_cache(64 << 20), 4u);
  EXPECT_EQ(sets_beyond_cache(20480), 48u);
  EXPECT_EQ(sets_beyond_cache(0), 48u);
}

}  // namespace
}  // namespace lanefold::bench
#endif
