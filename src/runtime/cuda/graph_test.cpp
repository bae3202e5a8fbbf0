#include "runtime/cuda/graph.h"

#include "runtime/cuda/test_fake_driver.h"

namespace lanefold::runtime {
namespace {

using namespace cuda_api;

class CudaGraphTest : public fake::FakeDriverTest {
 protected:
  void SetUp() override {
    FakeDriverTest::SetUp();
    device_.emplace(device());
    add_one_ = kernel(*device_, "add_one p 1024 0 8\nstore pq 1024 0 8", {.name = "add_one", .arguments = 1});
    store_ = kernel(*device_, "add_one p 1024 0 8\nstore pq 1024 0 8", {.name = "store", .arguments = 2});
    buffer_.emplace(*device_->allocate(sizeof(int)));
    stream_.emplace(*device_->stream());
    ASSERT_TRUE(buffer_->fill(std::byte{0}).ok());
  }
  void TearDown() override {
    add_one_.reset();
    store_.reset();
    buffer_.reset();
    stream_.reset();
    device_.reset();
    FakeDriverTest::TearDown();
  }

  Status add(CUstream stream, int times) const {
    lane::ArgumentWord words[1];
    words[0].pointer = buffer_->data();
    for (int i = 0; i < times; ++i) LANEFOLD_CHECK(device_->launch(*add_one_, {}, words, stream));
    return success();
  }
  Status store(CUstream stream, int value) const {
    lane::ArgumentWord words[2];
    words[0].pointer = buffer_->data();
    words[1].integer = value;
    return device_->launch(*store_, {}, words, stream);
  }
  int value() const {
    int value = -1;
    EXPECT_TRUE(buffer_->read(std::as_writable_bytes(std::span(&value, 1))).ok());
    return value;
  }
  CUstream stream() const { return stream_->handle(); }

  std::optional<CudaDevice> device_;
  std::shared_ptr<const CudaKernel> add_one_, store_;
  std::optional<CudaBuffer> buffer_;
  std::optional<CudaStream> stream_;
};

TEST_F(CudaGraphTest, RecordedLaunchesRunWithEachReplay) {
  const auto graph = device_->capture(stream(), [&](CUstream s) { return add(s, 3); });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(value(), 0) << "recording runs nothing";
  EXPECT_TRUE(graph->launch(stream()).ok());
  EXPECT_EQ(value(), 3);
  EXPECT_TRUE(graph->launch(stream()).ok());
  EXPECT_EQ(value(), 6);
  EXPECT_EQ(state().alive["graph"], 0) << "the instance is enough";
}

TEST_F(CudaGraphTest, ArgumentsAreThoseOfTheRecording) {
  auto graph = device_->capture(stream(), [&](CUstream s) { return store(s, 11); });
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(graph->launch(stream()).ok());
  EXPECT_EQ(value(), 11);
  ASSERT_TRUE(graph->update(stream(), [&](CUstream s) { return store(s, 12); }).ok());
  EXPECT_EQ(calls_of("cuGraphInstantiateWithFlags"), 1) << "an update makes no new instance";
  EXPECT_TRUE(graph->launch(stream()).ok());
  EXPECT_EQ(value(), 12);
}

TEST_F(CudaGraphTest, OtherLaunchesTakeANewInstance) {
  auto graph = device_->capture(stream(), [&](CUstream s) { return add(s, 1); });
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(graph->update(stream(), [&](CUstream s) { return add(s, 4); }).ok());
  EXPECT_EQ(calls_of("cuGraphInstantiateWithFlags"), 2);
  EXPECT_EQ(state().alive["graph instance"], 1);
  EXPECT_TRUE(graph->launch(stream()).ok());
  EXPECT_EQ(value(), 4);
  state().failures["cuGraphExecUpdate_v2"] = kLaunchFailed;
  EXPECT_EQ(graph->update(stream(), [&](CUstream s) { return add(s, 4); }).error().code, Code::device_failed);
  state().failures.clear();
}

TEST_F(CudaGraphTest, AReplayIsTimedByTheDevice) {
  const auto graph = device_->capture(stream(), [&](CUstream s) { return add(s, 3); });
  ASSERT_TRUE(graph.ok());
  const auto microseconds = graph->time(stream(), 10);
  ASSERT_TRUE(microseconds.ok()) << microseconds.error().text();
  EXPECT_DOUBLE_EQ(*microseconds, 6000) << "the fake's launches take 2 ms each";
  EXPECT_EQ(value(), 30);
}

TEST_F(CudaGraphTest, AStreamIsOfUseAfterAFailedRecording) {
  const auto refused = device_->capture(stream(), [&](CUstream s) -> Status {
    LANEFOLD_CHECK(add(s, 1));
    return Diagnostic{Code::no_columns, "no", "", ""};
  });
  EXPECT_EQ(refused.error().code, Code::no_columns) << "what the recording says";
  EXPECT_THROW((void)device_->capture(stream(), [](CUstream) -> Status { internal_error("a fault"); }), InternalError);
  EXPECT_TRUE(add(stream(), 1).ok());
  EXPECT_EQ(value(), 1);
  EXPECT_TRUE(device_->capture(stream(), [&](CUstream s) { return add(s, 1); }).ok());
}

TEST_F(CudaGraphTest, TheDefaultStreamCannotBeRecorded) {
  EXPECT_EQ(device_->capture(nullptr, [&](CUstream s) { return add(s, 1); }).error().code, Code::device_failed);
}

TEST_F(CudaGraphTest, EveryFailureOfTheDriverIsTold) {
  auto graph = device_->capture(stream(), [&](CUstream s) { return add(s, 1); });
  ASSERT_TRUE(graph.ok());
  const auto fails = [&](const std::string& function, const auto& action) {
    state().failures = {{function, kLaunchFailed}};
    const auto result = action();
    state().failures.clear();
    ASSERT_FALSE(result.ok()) << function;
    EXPECT_EQ(result.error().code, Code::device_failed) << function;
  };
  const auto capture = [&] { return device_->capture(stream(), [&](CUstream s) { return add(s, 1); }); };
  fails("cuCtxPushCurrent_v2", capture);
  fails("cuStreamBeginCapture_v2", capture);
  fails("cuGraphInstantiateWithFlags", capture);
  fails("cuGraphLaunch", [&] { return graph->launch(stream()); });
  const auto time = [&] { return graph->time(stream(), 1); };
  for (const char* function :
       {"cuEventCreate", "cuEventRecord", "cuGraphLaunch", "cuEventSynchronize", "cuEventElapsedTime"})
    fails(function, time);
  fails("cuLaunchKernelEx", capture);
}

TEST_F(CudaGraphTest, EventsTellTheDevicesTime) {
  const auto begin = device_->event();
  const auto end = device_->event();
  ASSERT_TRUE(begin.ok() && end.ok());
  EXPECT_EQ(end->microseconds_since(*begin).error().code, Code::device_failed) << "not recorded";
  EXPECT_TRUE(begin->record(stream()).ok());
  EXPECT_TRUE(add(stream(), 5).ok());
  EXPECT_TRUE(end->record(stream()).ok());
  EXPECT_TRUE(end->synchronize().ok());
  EXPECT_DOUBLE_EQ(*end->microseconds_since(*begin), 10000);
  EXPECT_TRUE(end->delay(nullptr).ok());
  state().failures["cuStreamWaitEvent"] = kLaunchFailed;
  EXPECT_EQ(end->delay(nullptr).error().code, Code::device_failed);
  state().failures.clear();
  EXPECT_TRUE(stream_->synchronize().ok());
}

}  // namespace
}  // namespace lanefold::runtime
