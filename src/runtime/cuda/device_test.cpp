#include "runtime/cuda/device.h"

#include <cstring>
#include <thread>

#include "runtime/cuda/test_fake_driver.h"

namespace lanefold::runtime {
namespace {

using namespace cuda_api;

class CudaDeviceTest : public fake::FakeDriverTest {
 protected:
  /// Why a kernel with these limits is refused.
  static Diagnostic refusal(const CudaDevice& device, const std::string& line, const CudaKernelRequest& request) {
    auto module = device.load(binary(line));
    EXPECT_TRUE(module.ok());
    const auto kernel = device.kernel(std::move(module).value(), request);
    EXPECT_FALSE(kernel.ok());
    return kernel.ok() ? Diagnostic{} : kernel.error();
  }
};

std::uint64_t bits(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

TEST_F(CudaDeviceTest, ArgumentsArriveAsTheirBytes) {
  const CudaDevice device = this->device();
  EXPECT_EQ(device.name(), "Fake H200");
  EXPECT_EQ(device.ordinal(), 0);
  EXPECT_EQ(device.target().name, "cuda-sm90");
  const auto scale = kernel(device, "scale pqf 1024 0 16", {.name = "scale", .arguments = 3, .threads = 256});
  const auto stream = device.stream();
  ASSERT_TRUE(stream.ok());
  int x = 0;
  lane::ArgumentWord words[3] = {};
  words[0].pointer = &x;
  words[1].integer = -5;
  std::memset(&words[2], 0xff, sizeof words[2]);
  words[2].real = 0.25f;
  LaunchShape shape;
  shape.grid = {7, 2, 3};
  shape.block = {64, 2, 1};
  ASSERT_TRUE(device.launch(*scale, shape, words, stream->handle()).ok());
  ASSERT_EQ(state().launches.size(), 1u);
  const fake::Launch& launch = state().launches[0];
  EXPECT_EQ(launch.kernel, "scale");
  EXPECT_EQ(launch.grid, (std::array<unsigned, 3>{7, 2, 3}));
  EXPECT_EQ(launch.block, (std::array<unsigned, 3>{64, 2, 1}));
  EXPECT_EQ(launch.stream, stream->handle());
  EXPECT_EQ(launch.context, device.context()->handle());
  EXPECT_EQ(launch.shared_bytes, 0u);
  EXPECT_EQ(launch.cluster, 1u);
  EXPECT_FALSE(launch.programmatic);
  EXPECT_EQ(launch.arguments, (std::vector<std::uint64_t>{reinterpret_cast<std::uint64_t>(&x),
                                                          static_cast<std::uint64_t>(-5), bits(0.25f)}));
}

TEST_F(CudaDeviceTest, ClustersAndProgrammaticLaunchAreAttributes) {
  const CudaDevice device = this->device();
  const auto k = kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1, .cluster = 4});
  const lane::ArgumentWord words[1] = {};
  LaunchShape shape;
  shape.grid[0] = 12;
  shape.cluster = 4;
  EXPECT_TRUE(device.launch(*k, shape, words, nullptr).ok());
  shape.programmatic_dependent = true;
  EXPECT_TRUE(device.launch(*k, shape, words, nullptr).ok());
  shape.cluster = 1;
  EXPECT_TRUE(device.launch(*k, shape, words, nullptr).ok());
  ASSERT_EQ(state().launches.size(), 3u);
  EXPECT_EQ(state().launches[0].cluster, 4u);
  EXPECT_FALSE(state().launches[0].programmatic);
  EXPECT_EQ(state().launches[1].cluster, 4u);
  EXPECT_TRUE(state().launches[1].programmatic);
  EXPECT_EQ(state().launches[2].cluster, 1u);
  EXPECT_TRUE(state().launches[2].programmatic);
}

TEST_F(CudaDeviceTest, MuchThreadgroupMemoryIsAskedForOnce) {
  const CudaDevice device = this->device();
  const std::string line = "k q 1024 1024 16";
  const std::string set = "k " + std::to_string(kFunctionMaxDynamicShared);
  const lane::ArgumentWord words[1] = {};
  LaunchShape shape;
  shape.shared_bytes = 47 * 1024;
  const auto small = kernel(device, line, {.name = "k", .arguments = 1, .shared_bytes = shape.shared_bytes});
  EXPECT_FALSE(state().function_sets.contains(set)) << "48 KiB in all are free";
  EXPECT_TRUE(device.launch(*small, shape, words, nullptr).ok());
  shape.shared_bytes = 200 * 1024;
  EXPECT_EQ(device.launch(*small, shape, words, nullptr).error().code, Code::device_failed)
      << "more was never asked for";

  const auto big = kernel(device, line, {.name = "k", .arguments = 1, .shared_bytes = shape.shared_bytes});
  EXPECT_EQ(state().function_sets[set], 200 * 1024);
  const auto sets = calls_of("cuFuncSetAttribute");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(device.launch(*big, shape, words, nullptr).ok());
  EXPECT_EQ(calls_of("cuFuncSetAttribute"), sets);
  EXPECT_EQ(state().launches.back().shared_bytes, 200u * 1024);
}

TEST_F(CudaDeviceTest, ALaunchIsOneCallAndOneGlance) {
  const CudaDevice device = this->device();
  const auto k = kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1});
  const lane::ArgumentWord words[1] = {};
  CUcontext context = device.context()->handle();
  driver_->functions().context_push(context);
  state().calls.clear();
  EXPECT_TRUE(device.launch(*k, {}, words, nullptr).ok());
  EXPECT_EQ(state().calls, (std::vector<std::string>{"cuCtxGetCurrent", "cuLaunchKernelEx"}));
  driver_->functions().context_pop(&context);
  state().calls.clear();
  EXPECT_TRUE(device.launch(*k, {}, words, nullptr).ok());
  EXPECT_EQ(state().calls, (std::vector<std::string>{"cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuLaunchKernelEx",
                                                     "cuCtxPopCurrent_v2"}));
}

TEST_F(CudaDeviceTest, AnEmptyGridIsNotLaunched) {
  const CudaDevice device = this->device();
  const auto k = kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1});
  const lane::ArgumentWord words[1] = {};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    LaunchShape shape;
    shape.grid[axis] = 0;
    EXPECT_TRUE(device.launch(*k, shape, words, nullptr).ok());
  }
  EXPECT_TRUE(state().launches.empty());
}

TEST_F(CudaDeviceTest, AnotherNumberOfWordsIsOurFault) {
  const CudaDevice device = this->device();
  const auto k = kernel(device, "k qq 1024 0 16", {.name = "k", .arguments = 2});
  const lane::ArgumentWord words[3] = {};
  EXPECT_THROW((void)device.launch(*k, {}, std::span(words, 1), nullptr), InternalError);
  EXPECT_THROW((void)device.launch(*k, {}, words, nullptr), InternalError);
}

TEST_F(CudaDeviceTest, LimitsAreCheckedWhenAKernelIsLoaded) {
  const CudaDevice device = this->device();
  EXPECT_EQ(refusal(device, "k q 1024 0 16", {.name = "other", .arguments = 1}).code, Code::unknown_name);
  const Diagnostic threads = refusal(device, "k q 640 0 96", {.name = "k", .arguments = 1, .threads = 704});
  EXPECT_EQ(threads.code, Code::too_many_threads);
  EXPECT_NE(threads.message.find("704"), std::string::npos);
  EXPECT_NE(threads.message.find("640"), std::string::npos);
  kernel(device, "k q 640 0 96", {.name = "k", .arguments = 1, .threads = 640});

  const Diagnostic memory = refusal(device, "k q 1024 4 16", {.name = "k", .arguments = 1, .shared_bytes = 232445});
  EXPECT_EQ(memory.code, Code::threadgroup_memory_exceeded);
  EXPECT_NE(memory.message.find("232449 bytes"), std::string::npos) << memory.message;
  kernel(device, "k q 1024 4 16", {.name = "k", .arguments = 1, .shared_bytes = 232444});

  EXPECT_EQ(refusal(device, "k q 1024 0 16", {.name = "k", .arguments = 1, .cluster = 32}).code,
            Code::cluster_too_large);
  const std::string any_size = "k " + std::to_string(cuda_api::kFunctionAnyClusterSize);
  EXPECT_FALSE(state().function_sets.contains(any_size));
  kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1, .cluster = 16});
  EXPECT_EQ(state().function_sets[any_size], 1);
  state().active_clusters = 0;
  const Diagnostic room = refusal(device, "k q 1024 0 16", {.name = "k", .arguments = 1, .cluster = 16});
  EXPECT_EQ(room.code, Code::cluster_too_large);
  EXPECT_NE(room.message.find("no room"), std::string::npos) << room.message;
  kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1, .cluster = 8});
  EXPECT_EQ(refusal(device, "k q 1024 0 16", {.name = "k", .arguments = 513}).code, Code::launch_too_large);
}

TEST_F(CudaDeviceTest, AnOlderDeviceHasNoClusters) {
  state().devices.push_back(fake::a100());
  driver_ = *CudaDriver::load(LANEFOLD_FAKE_CUDA);
  const CudaDevice device = this->device(1);
  EXPECT_EQ(device.target().name, "cuda-sm80");
  EXPECT_EQ(device.ordinal(), 1);
  const Diagnostic d = refusal(device, "k q 1024 0 16", {.name = "k", .arguments = 1, .cluster = 2});
  EXPECT_EQ(d.code, Code::cluster_too_large);
  EXPECT_NE(d.message.find("has none"), std::string::npos) << d.message;
}

TEST_F(CudaDeviceTest, UsageComesFromTheLogOrFromTheDevice) {
  const CudaDevice device = this->device();
  EXPECT_EQ(kernel(device, "k q 1024 128 40", {.name = "k", .arguments = 1})->usage(),
            (ResourceUsage{.kernel = "k", .registers = 40, .shared_bytes = 128}));
  CudaBinary logged = binary("k q 1024 128 40");
  logged.usage = {{.kernel = "k", .registers = 32, .spill_store_bytes = 8}};
  const auto k = device.kernel(*device.load(logged), {.name = "k", .arguments = 1});
  ASSERT_TRUE(k.ok());
  EXPECT_EQ((*k)->usage().spill_store_bytes, 8u);
  EXPECT_EQ((*k)->module().binary().cubin, logged.cubin);
}

TEST_F(CudaDeviceTest, WhatIsNoMachineCodeDoesNotLoad) {
  const CudaDevice device = this->device();
  CudaBinary damaged = binary("k q 1024 0 16");
  damaged.cubin[0] = std::byte{'x'};
  const auto module = device.load(damaged);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::object_damaged);
  EXPECT_NE(module.error().message.find("CUDA_ERROR_INVALID_IMAGE"), std::string::npos);
  for (const int outcome : {+kNoBinaryForDevice, +kUnsupportedPtxVersion}) {
    state().failures["cuModuleLoadData"] = outcome;
    EXPECT_EQ(device.load(binary("k q 1024 0 16")).error().code, Code::object_damaged);
  }
  state().failures["cuModuleLoadData"] = kOutOfMemory;
  EXPECT_EQ(device.load(binary("k q 1024 0 16")).error().code, Code::out_of_memory);
}

TEST_F(CudaDeviceTest, AModuleStaysWhileAKernelHoldsIt) {
  std::shared_ptr<const CudaKernel> k;
  {
    const CudaDevice device = this->device();
    k = kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1});
  }
  EXPECT_EQ(state().alive["module"], 1);
  EXPECT_EQ(state().alive["primary context"], 1) << "the module holds its context";
  k.reset();
  EXPECT_EQ(state().alive["module"], 0);
  EXPECT_EQ(state().alive["primary context"], 0);
}

TEST_F(CudaDeviceTest, TheCurrentContextIsUsedAsItIs) {
  EXPECT_EQ(CudaDevice::current(*driver_).error().code, Code::device_failed) << "none is current";
  state().devices.push_back(fake::a100());
  driver_ = *CudaDriver::load(LANEFOLD_FAKE_CUDA);
  const CudaDevice opened = device(1);
  CUcontext context = opened.context()->handle();
  driver_->functions().context_push(context);
  {
    const auto device = CudaDevice::current(*driver_);
    ASSERT_TRUE(device.ok()) << device.error().text();
    EXPECT_EQ(device->name(), "Fake A100");
    EXPECT_EQ(device->context()->handle(), context);
    EXPECT_EQ(state().alive["primary context"], 2) << "a primary context is kept";
  }
  EXPECT_EQ(state().alive["primary context"], 1);
  // One that is not primary, for there is no such context, is its maker's.
  const auto retained = calls_of("cuDevicePrimaryCtxRetain");
  state().alive["primary context"] = 0;
  EXPECT_EQ(CudaDevice::current(*driver_)->context()->handle(), context);
  state().alive["primary context"] = 1;
  driver_->functions().context_pop(&context);
  EXPECT_EQ(calls_of("cuDevicePrimaryCtxRetain"), retained);
}

TEST_F(CudaDeviceTest, TellsWhatKeepsItFromMemory) {
  const CudaDevice device = this->device();
  char host[2] = {}, peer[2] = {}, own = 'a';
  state().foreign = {{host, {.bytes = 2}}, {peer, {.bytes = 2, .device = 1}}};
  EXPECT_EQ(device.memory_fault(&own).value(), "");
  EXPECT_NE(device.memory_fault(host + 1)->find("host"), std::string::npos);
  EXPECT_EQ(device.memory_fault(peer).value(), "is memory of CUDA device 1");
  state().foreign[peer].peer_access = true;
  EXPECT_EQ(device.memory_fault(peer).value(), "");
  state().unknown_memory_is_an_error = true;
  EXPECT_NE(device.memory_fault(host)->find("host"), std::string::npos);
  std::byte copy[1];
  ASSERT_TRUE(device.read(&own, copy).ok());
  EXPECT_EQ(copy[0], std::byte{'a'});
  state().devices[0].attributes[cuda_api::kPageableMemoryAccess] = 1;
  EXPECT_EQ(this->device().memory_fault(host).value(), "") << "kernels of this device reach it";
  state().failures["cuPointerGetAttributes"] = cuda_api::kLaunchFailed;
  EXPECT_EQ(device.memory_fault(&own).error().code, Code::device_failed);
}

TEST_F(CudaDeviceTest, AnyThreadMayLaunch) {
  const CudaDevice device = this->device();
  const auto k = kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const lane::ArgumentWord words[1] = {};
      for (int j = 0; j < 25; ++j) EXPECT_TRUE(device.launch(*k, {}, words, nullptr).ok());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(state().launches.size(), 100u);
  EXPECT_EQ(state().launches.front().context, device.context()->handle());
}

TEST_F(CudaDeviceTest, AKernelThatGoesWrongLosesTheContext) {
  const CudaDevice device = this->device();
  const auto k = kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1});
  const auto stream = device.stream();
  const auto buffer = device.allocate(16);
  ASSERT_TRUE(stream.ok() && buffer.ok());
  const lane::ArgumentWord words[1] = {};
  state().next_launch_goes_wrong = kIllegalAddress;
  EXPECT_TRUE(device.launch(*k, {}, words, stream->handle()).ok()) << "nobody has waited for it yet";
  const Status status = stream->synchronize();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::device_failed);
  EXPECT_NE(status.error().message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << status.error().message;
  EXPECT_NE(status.error().hint.find("another process"), std::string::npos) << status.error().hint;
  const Status after = device.launch(*k, {}, words, stream->handle());
  ASSERT_FALSE(after.ok());
  EXPECT_NE(after.error().message.find("the launch of k failed: CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
  EXPECT_FALSE(device.synchronize().ok());
  EXPECT_FALSE(device.allocate(16).ok());
  state().lost = 0;  // so that the test may give everything back
}

TEST_F(CudaDeviceTest, EveryFailureOfTheDriverIsTold) {
  const auto fails = [&](const std::string& function, const auto& action) {
    state().failures = {{function, kLaunchFailed}};
    const auto result = action();
    state().failures.clear();
    ASSERT_FALSE(result.ok()) << function;
    EXPECT_EQ(result.error().code, Code::device_failed) << function;
    EXPECT_NE(result.error().message.find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos) << result.error().message;
  };
  const auto open = [&] { return CudaDevice::open(*driver_); };
  fails("cuDeviceGet", open);
  fails("cuDevicePrimaryCtxRetain", open);
  fails("cuDeviceGetAttribute", open);
  fails("cuCtxGetCurrent", [&] { return CudaDevice::current(*driver_); });
  const CudaDevice device = this->device();
  const auto k = kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1});
  const auto load = [&] { return device.load(binary("k q 1024 0 16")); };
  fails("cuModuleLoadData", load);
  fails("cuCtxGetCurrent", load);
  fails("cuCtxPushCurrent_v2", load);
  const auto module = load();
  const auto find = [&] { return device.kernel(*module, {.name = "k", .arguments = 1, .shared_bytes = 60000}); };
  fails("cuModuleGetFunction", find);
  fails("cuFuncGetAttribute", find);
  fails("cuFuncSetAttribute", find);
  fails("cuCtxPushCurrent_v2", find);
  const lane::ArgumentWord words[1] = {};
  const auto launch = [&] { return device.launch(*k, {}, words, nullptr); };
  fails("cuLaunchKernelEx", launch);
  fails("cuCtxPushCurrent_v2", launch);
  fails("cuCtxSynchronize", [&] { return device.synchronize(); });
  fails("cuStreamCreate", [&] { return device.stream(); });
  fails("cuEventCreate", [&] { return device.event(); });
}

TEST(LaunchShapeTest, FollowsTheKernelInWholeClusters) {
  lane::Kernel kernel;
  kernel.name = "k";
  kernel.simd_groups = 4;
  kernel.rows_per_threadgroup = 2;
  const auto plain = launch_shape(kernel, 7, 100);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->grid, (std::array<std::uint32_t, 3>{4, 1, 1}));
  EXPECT_EQ(plain->block, (std::array<std::uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(plain->cluster, 1u);
  EXPECT_EQ(launch_shape(kernel, 0, 100)->grid[0], 0u);
  kernel.cluster = 8;
  EXPECT_EQ(launch_shape(kernel, 17, 100)->grid[0], 16u);
  EXPECT_EQ(launch_shape(kernel, 17, 100)->cluster, 8u);

  kernel.cluster = 1;
  kernel.rows_per_threadgroup = 1;
  EXPECT_EQ(launch_shape(kernel, 0x7fffffff, 1)->grid[0], 0x7fffffffu);
  const auto refused = launch_shape(kernel, std::int64_t{0x80000000}, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::launch_too_large);

  kernel.arguments.resize(3);
  kernel.cluster = 2;
  const CudaKernelRequest request = kernel_request(kernel);
  EXPECT_EQ(request.name, "k");
  EXPECT_EQ(request.arguments, 3u);
  EXPECT_EQ(request.threads, 128u);
  EXPECT_EQ(request.cluster, 2u);
}

}  // namespace
}  // namespace lanefold::runtime
