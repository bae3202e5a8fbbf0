#include "runtime/cuda/buffer.h"

#include <numeric>

#include "runtime/cuda/test_fake_driver.h"

namespace lanefold::runtime {
namespace {

using namespace cuda_api;
using CudaBufferTest = fake::FakeDriverTest;

TEST_F(CudaBufferTest, HoldsWhatIsWritten) {
  const CudaDevice device = this->device();
  const auto buffer = device.allocate(40);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->size(), 40u);
  std::vector<int> in(10), out(10);
  std::iota(in.begin(), in.end(), 1);
  EXPECT_TRUE(buffer->write(std::as_bytes(std::span(in))).ok());
  EXPECT_TRUE(buffer->read(std::as_writable_bytes(std::span(out))).ok());
  EXPECT_EQ(out, in);
  EXPECT_TRUE(buffer->write(std::as_bytes(std::span(in).first(2)), 32).ok());
  int last = 0;
  EXPECT_TRUE(buffer->read(std::as_writable_bytes(std::span(&last, 1)), 36).ok());
  EXPECT_EQ(last, 2);
  EXPECT_TRUE(buffer->fill(std::byte{0xff}).ok());
  EXPECT_TRUE(buffer->read(std::as_writable_bytes(std::span(out))).ok());
  EXPECT_EQ(out, std::vector<int>(10, -1));
}

TEST_F(CudaBufferTest, BytesBeyondItAreOurFault) {
  const auto buffer = device().allocate(8);
  std::byte bytes[9] = {};
  EXPECT_THROW((void)buffer->write(bytes), InternalError);
  EXPECT_THROW((void)buffer->read(std::span(bytes, 1), 8), InternalError);
  EXPECT_THROW((void)buffer->read(std::span(bytes, 0), 9), InternalError);
  EXPECT_TRUE(buffer->read(std::span(bytes, 0), 8).ok());
}

TEST_F(CudaBufferTest, NoBytesNeedNoMemory) {
  const auto buffer = device().allocate(0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_TRUE(buffer->write({}).ok());
  EXPECT_TRUE(buffer->fill(std::byte{1}).ok());
  EXPECT_EQ(calls_of("cuMemAlloc_v2"), 0);
}

TEST_F(CudaBufferTest, MovingGivesBackOnce) {
  const CudaDevice device = this->device();
  auto a = device.allocate(8);
  CudaBuffer b = std::move(a).value();
  void* const address = b.data();
  CudaBuffer c = std::move(b);
  EXPECT_EQ(c.data(), address);
  c = device.allocate(16).value();
  EXPECT_EQ(state().alive["memory"], 1) << "what it held before is given back";
  EXPECT_EQ(c.size(), 16u);
}

TEST_F(CudaBufferTest, NoRoomIsSaid) {
  const CudaDevice device = this->device();
  const auto buffer = device.allocate(std::size_t{1} << 40);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, Code::out_of_memory);
  EXPECT_NE(buffer.error().message.find("1099511627776 bytes"), std::string::npos) << buffer.error().message;
}

TEST_F(CudaBufferTest, EveryFailureOfTheDriverIsTold) {
  const CudaDevice device = this->device();
  const auto buffer = device.allocate(8);
  std::byte bytes[8] = {};
  const auto fails = [&](const std::string& function, const auto& action) {
    state().failures = {{function, kLaunchFailed}};
    const Status result = action();
    state().failures.clear();
    ASSERT_FALSE(result.ok()) << function;
    EXPECT_EQ(result.error().code, Code::device_failed) << function;
  };
  fails("cuMemcpyHtoD_v2", [&] { return buffer->write(bytes); });
  fails("cuMemcpyDtoH_v2", [&] { return buffer->read(bytes); });
  fails("cuMemsetD8Async", [&] { return buffer->fill(std::byte{}); });
  state().failures["cuMemAlloc_v2"] = kLaunchFailed;
  EXPECT_EQ(device.allocate(8).error().code, Code::device_failed);
}

}  // namespace
}  // namespace lanefold::runtime
