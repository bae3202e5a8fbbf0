#include "runtime/cuda/capture.h"

#include "runtime/cuda/stream_memory.h"
#include "runtime/cuda/test_fake_driver.h"

namespace lanefold::runtime {
namespace {

using CudaCaptureTest = fake::FakeDriverTest;

TEST_F(CudaCaptureTest, AStreamTellsWhetherItIsCaptured) {
  const CudaDevice device = this->device();
  const CudaStream stream = device.stream().value(), other = device.stream().value();
  const auto captured = [&](CUstream asked) { return is_captured(*device.context(), asked).value(); };
  EXPECT_FALSE(captured(stream.handle()));
  const auto graph = device.capture(stream.handle(), [&](CUstream) -> Status {
    EXPECT_TRUE(captured(stream.handle()));
    EXPECT_FALSE(captured(other.handle()));
    EXPECT_FALSE(captured(nullptr)) << "the default stream never is";
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_FALSE(captured(stream.handle()));
  state().failures["cuStreamIsCapturing"] = cuda_api::kInvalidContext;
  EXPECT_EQ(is_captured(*device.context(), stream.handle()).error().code, Code::device_failed);
}

TEST_F(CudaCaptureTest, WhatIsLoadedAndUnloadedMeanwhileDoesNotEndIt) {
  const CudaDevice device = this->device();
  const CudaStream stream = device.stream().value();
  const auto graph = device.capture(stream.handle(), [&](CUstream) -> Status {
    kernel(device, "k q 1024 0 16", {.name = "k", .arguments = 1, .threads = 32, .shared_bytes = 100000});
    EXPECT_FALSE(device.synchronize().ok()) << "this thread has said that only loading and freeing may go on";
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(calls_of("cuModuleUnload"), 1);
}

TEST_F(CudaCaptureTest, MemoryOfAStreamIsTakenAndGivenBackInItsOrder) {
  const CudaDevice device = this->device();
  const CudaStream stream = device.stream().value();
  {
    Result<CudaStreamMemory> memory = CudaStreamMemory::create(device.context(), 1000, stream.handle());
    ASSERT_TRUE(memory.ok()) << memory.error().text();
    EXPECT_NE(memory->data(), nullptr);
    const CudaStreamMemory moved = std::move(*memory);
    EXPECT_NE(moved.data(), nullptr);
    EXPECT_EQ(calls_of("cuMemFreeAsync"), 0);
  }
  EXPECT_EQ(calls_of("cuMemFreeAsync"), 1);
  EXPECT_EQ(calls_of("cuStreamSynchronize"), 0);
  state().failures["cuMemAllocAsync"] = cuda_api::kOutOfMemory;
  EXPECT_EQ(CudaStreamMemory::create(device.context(), 1000, nullptr).error().code, Code::out_of_memory);
  EXPECT_EQ(calls_of("cuMemFreeAsync"), 1);
}

}  // namespace
}  // namespace lanefold::runtime
