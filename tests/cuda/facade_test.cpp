// The public facade and the C ABI on a CUDA device, over memory and streams of the caller's. Skipped without a device, unless
// LANEFOLD_TEST_DEVICE=cuda says that there must be one.
#include <functional>
#include <thread>

#include "conformance/operator_table.h"
#include "cuda/device_memory.h"
#include "lanefold/c.h"
#include "lanefold/lanefold.h"
#include "verify/cuda_copies.h"

namespace lanefold::testing {
namespace {

/// A trial's call in the device's memory, as the facade takes it.
struct FacadeCall {
  FacadeCall(const runtime::CudaDevice& device, const Trial& trial, DevicePlace place = {})
      : memory(device, trial, place), parameters(trial.parameters), rows(trial.rows()), cols(trial.cols()) {
    for (const View& v : memory.call().inputs)
      inputs.push_back({v.data, static_cast<Type>(v.type), v.rows, v.cols, v.row_stride, v.column_stride});
    for (const View& v : memory.call().outputs)
      outputs.push_back({v.data, static_cast<Type>(v.type), v.rows, v.cols, v.row_stride, v.column_stride});
  }
  void run(const Kernel& kernel, CUstream stream) const {
    kernel.run(inputs, outputs, rows, cols, parameters, {stream});
  }

  DeviceCall memory;
  std::vector<float> parameters;
  std::int64_t rows, cols;
  std::vector<ConstMatrix> inputs;
  std::vector<Matrix> outputs;
};

class CudaRunsOfTheFacade : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto device = verify::shared_cuda_device();
    if (device.ok()) {
      device_.emplace(*device);
      return;
    }
    if (std::getenv("LANEFOLD_TEST_DEVICE") != nullptr) FAIL() << device.error().text();
    GTEST_SKIP() << device.error().text();
  }

  static Options on_cuda() {
    Options options;
    options.device = Device::cuda;
    options.disk_cache = std::getenv("LANEFOLD_CACHE_DIR") != nullptr;
    return options;
  }
  static Kernel kernel(std::string_view op, ElementType storage) {
    return Kernel::compile_operator(op, static_cast<Type>(storage), on_cuda());
  }
  static Trial filled(std::string_view op, ElementType storage, std::int64_t rows, std::int64_t cols) {
    const ConformanceRow& row = *conformance_row(op);
    Trial trial(operator_program(op, storage), rows, whole_columns(row, cols));
    trial.fill_random(1, row.low, row.high);
    return trial;
  }
  runtime::CudaStream new_stream() const { return device_->stream().value(); }
  static std::string refusal(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.name();
    }
    return "none";
  }

  std::optional<runtime::CudaDevice> device_;
};

struct OfOperator {
  const char* op;
  ElementType storage;
  std::int64_t rows, cols;
};
constexpr OfOperator kTried[] = {{"softmax", ElementType::f32, 33, 1000},
                                 {"rms_norm", ElementType::bf16, 64, 4096},
                                 {"layer_norm", ElementType::f16, 5, 769},
                                 {"argmax", ElementType::f32, 1, 50257},
                                 {"residual_norm_q8", ElementType::bf16, 16, 2560}};

TEST_F(CudaRunsOfTheFacade, CallsInAStreamHaveTheOraclesBytes) {
  const runtime::CudaStream stream = new_stream();
  for (const OfOperator& tried : kTried)
    for (const DevicePlace& place : {DevicePlace{0, 0}, DevicePlace{3, 5}}) {
      SCOPED_TRACE(tried.op);
      const Trial trial = filled(tried.op, tried.storage, tried.rows, tried.cols);
      const FacadeCall call(*device_, trial, place);
      const Kernel kernel = this->kernel(tried.op, tried.storage);
      EXPECT_EQ(kernel.device(), Device::cuda);
      EXPECT_EQ(kernel.cuda_device(), 0);
      for (int turn = 0; turn < 2; ++turn) {
        call.memory.poison();
        call.run(kernel, stream.handle());
        ASSERT_TRUE(stream.synchronize().ok());
        EXPECT_EQ(difference(trial.program(), call.memory.outputs(), trial.exact()), "") << "turn " << turn;
      }
      EXPECT_TRUE(kernel.check(call.inputs, call.outputs, call.rows, call.cols, call.parameters).ok());
    }
}

TEST_F(CudaRunsOfTheFacade, CheckFindsAWrongElement) {
  const Trial trial = filled("rms_norm", ElementType::f32, 7, 300);
  const FacadeCall call(*device_, trial);
  const Kernel kernel = this->kernel("rms_norm", ElementType::f32);
  EXPECT_FALSE(kernel.check(call.inputs, call.outputs, call.rows, call.cols).ok()) << "nothing has run yet";
  call.run(kernel, nullptr);
  EXPECT_TRUE(kernel.check(call.inputs, call.outputs, call.rows, call.cols).ok());
}

TEST_F(CudaRunsOfTheFacade, TwoThreadsWithAStreamEachShareAKernel) {
  const Trial trial = filled("softmax", ElementType::f32, 777, 1000);
  const std::vector<Bytes> expected = trial.exact();
  const Kernel kernel = this->kernel("softmax", ElementType::f32);
  const FacadeCall calls[] = {FacadeCall(*device_, trial), FacadeCall(*device_, trial)};
  const runtime::CudaStream streams[] = {new_stream(), new_stream()};
  const auto work = [&](int which) {
    for (int i = 0; i < 50; ++i) calls[which].run(kernel, streams[which].handle());
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (int which = 0; which < 2; ++which) {
    ASSERT_TRUE(streams[which].synchronize().ok());
    EXPECT_EQ(difference(trial.program(), calls[which].memory.outputs(), expected), "");
  }
}

TEST_F(CudaRunsOfTheFacade, AGraphReplaysPreparedCalls) {
  const Trial trials[] = {filled("layer_norm", ElementType::f16, 65, 768),
                          filled("softmax", ElementType::f32, 16, 2560)};
  const Kernel kernels[] = {kernel("layer_norm", ElementType::f16), kernel("softmax", ElementType::f32)};
  const FacadeCall calls[] = {FacadeCall(*device_, trials[0]), FacadeCall(*device_, trials[1])};
  const runtime::CudaStream stream = new_stream();
  const Trial wide = filled("softmax", ElementType::f32, 16, 40000);
  const FacadeCall unprepared(*device_, wide);
  for (int k = 0; k < 2; ++k) kernels[k].prepare(calls[k].inputs, calls[k].outputs, calls[k].rows, calls[k].cols);
  const auto graph = device_->capture(stream.handle(), [&](CUstream captured) -> Status {
    EXPECT_EQ(refusal([&] { unprepared.run(kernels[1], captured); }), "capture_not_prepared");
    for (int k = 0; k < 2; ++k) calls[k].run(kernels[k], captured);
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (int replay = 0; replay < 3; ++replay) {
    for (const FacadeCall& call : calls) call.memory.poison();
    ASSERT_TRUE(graph->launch(stream.handle()).ok());
    ASSERT_TRUE(stream.synchronize().ok());
    for (int k = 0; k < 2; ++k)
      EXPECT_EQ(difference(trials[k].program(), calls[k].memory.outputs(), trials[k].exact()), "") << replay;
  }
}

TEST_F(CudaRunsOfTheFacade, ACompilationElsewhereDoesNotEndACapture) {
  constexpr int kLoadsWhileCapturing = 12030;
  if (device_->context()->driver().version() < kLoadsWhileCapturing) GTEST_SKIP() << "an older driver may refuse it";
  const Trial trial = filled("rms_norm", ElementType::f32, 9, 512);
  const FacadeCall call(*device_, trial), other(*device_, trial);
  const Kernel prepared = kernel("rms_norm", ElementType::f32);
  prepared.prepare(call.inputs, call.outputs, call.rows, call.cols);
  const Kernel fresh = kernel("rms_norm", ElementType::f32);
  const runtime::CudaStream captured = new_stream(), stream = new_stream();
  const auto graph = device_->capture(captured.handle(), [&](CUstream recording) -> Status {
    call.run(prepared, recording);
    other.run(fresh, stream.handle());
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_TRUE(graph->launch(captured.handle()).ok());
  ASSERT_TRUE(captured.synchronize().ok());
  ASSERT_TRUE(stream.synchronize().ok());
  for (const FacadeCall* ran : {&call, &other})
    EXPECT_EQ(difference(trial.program(), ran->memory.outputs(), trial.exact()), "");
}

TEST_F(CudaRunsOfTheFacade, LeadingDimensionsLeaveTheRowsBetweenAlone) {
  constexpr std::int64_t kCols = 256;
  const Trial trial = filled("rms_norm", ElementType::f32, 24, kCols);
  const FacadeCall call(*device_, trial);
  const std::int64_t shape[] = {3, 7, kCols}, strides[] = {8 * kCols, kCols, 1}, weights[] = {kCols}, step[] = {1};
  const std::vector<ConstTensor> inputs = {{call.inputs[0].data, Type::f32, shape, strides},
                                           {call.inputs[1].data, Type::f32, weights, step}};
  const std::vector<Tensor> outputs = {{call.outputs[0].data, Type::f32, shape, strides}};
  const Kernel kernel = this->kernel("rms_norm", ElementType::f32);
  const runtime::CudaStream stream = new_stream();
  kernel.run(inputs, outputs, call.parameters, {stream.handle()});
  ASSERT_TRUE(stream.synchronize().ok());
  Bytes expected = trial.exact()[0];
  constexpr auto kRowBytes = static_cast<std::ptrdiff_t>(4 * kCols);
  for (const std::ptrdiff_t row : {7, 15, 23})
    std::fill_n(expected.begin() + row * kRowBytes, kRowBytes, std::byte{0xff});
  EXPECT_EQ(difference(trial.program(), call.memory.outputs(), {expected}), "");
  EXPECT_TRUE(kernel.check(inputs, outputs, call.parameters).ok());
}

TEST_F(CudaRunsOfTheFacade, MemoryOfTheHostIsRefused) {
  std::vector<float> x(4 * 64, 1.0f), weight(64, 1.0f);
  if (device_->memory_fault(x.data())->empty()) GTEST_SKIP() << "kernels of this device reach all memory of the host";
  const Trial trial = filled("rms_norm", ElementType::f32, 4, 64);
  const FacadeCall call(*device_, trial);
  const Kernel kernel = this->kernel("rms_norm", ElementType::f32);
  std::vector<ConstMatrix> inputs = call.inputs;
  inputs[0].data = x.data();
  const auto run = [&] { kernel.run(inputs, call.outputs, 4, 64); };
  EXPECT_EQ(refusal(run), "call_not_on_device");
  call.run(kernel, nullptr);
  EXPECT_EQ(refusal(run), "call_not_on_device");
  EXPECT_EQ(refusal([&] { kernel.prepare(inputs, call.outputs, 4, 64); }), "call_not_on_device");
  ASSERT_TRUE(device_->synchronize().ok()) << "the context lives";
  EXPECT_EQ(difference(trial.program(), call.memory.outputs(), trial.exact()), "");
}

/// Folds along rows, of rows, and an output of the columns.
constexpr char kStandardised[] = R"(program standardised(x: f32[rows, cols], eps = 1e-5)
  mean = fold[rows] sum x / rows
  d = x - mean
  inv = 1 / sqrt(fold[rows] dot(d, d) / rows + eps)
  store y: f32[rows, cols] = d * inv
  store m: f32[cols] = mean
)";

TEST_F(CudaRunsOfTheFacade, StagesRunInTheStreamAndInGraphs) {
  constexpr std::int64_t kRows = 37, kCols = 129;
  Trial trial(ir::parse(kStandardised).value(), kRows, kCols);
  trial.fill_random(3, -2, 2);
  Options slow;
  slow.device = Device::lane_machine;
  const Kernel machine = Kernel::compile_program(kStandardised, slow);
  const Kernel kernel = Kernel::compile_program(kStandardised, on_cuda());
  const View& x = trial.inputs[0];
  std::vector<float> y(kRows * kCols), m(kCols);
  machine.run(std::vector<ConstMatrix>{{x.data, Type::f32, kRows, kCols, x.row_stride, 1}},
              std::vector<Matrix>{matrix(y.data(), kRows, kCols), per_column(m.data(), kCols)}, kRows, kCols);
  const auto bytes = [](const std::vector<float>& values) {
    const auto* const begin = reinterpret_cast<const std::byte*>(values.data());
    return Bytes(begin, begin + 4 * values.size());
  };
  const std::vector<Bytes> expected = {bytes(y), bytes(m)};
  const FacadeCall call(*device_, trial);
  const runtime::CudaStream stream = new_stream();
  for (int turn = 0; turn < 2; ++turn) {
    call.memory.poison();
    call.run(kernel, stream.handle());
    ASSERT_TRUE(stream.synchronize().ok());
    EXPECT_EQ(difference(trial.program(), call.memory.outputs(), expected), "");
  }
  EXPECT_TRUE(kernel.check(call.inputs, call.outputs, kRows, kCols).ok());
  const auto graph = device_->capture(stream.handle(), [&](CUstream captured) -> Status {
    call.run(kernel, captured);
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (int replay = 0; replay < 3; ++replay) {
    call.memory.poison();
    ASSERT_TRUE(graph->launch(stream.handle()).ok());
    ASSERT_TRUE(stream.synchronize().ok());
    EXPECT_EQ(difference(trial.program(), call.memory.outputs(), expected), "") << "replay " << replay;
  }
}

TEST_F(CudaRunsOfTheFacade, TheCAbiRunsInAStream) {
  const Trial trial = filled("rms_norm", ElementType::bf16, 12, 2048);
  const FacadeCall call(*device_, trial);
  lanefold_options options = LANEFOLD_OPTIONS_INIT;
  options.device = LANEFOLD_DEVICE_CUDA;
  options.cuda_device = 0;
  lanefold_kernel* kernel = nullptr;
  lanefold_error* error = nullptr;
  ASSERT_EQ(lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_BF16, &options, &kernel, &error), LANEFOLD_OK)
      << error->message;
  const lanefold_const_view in[] = {{call.inputs[0].data, LANEFOLD_TYPE_BF16, 2, {12, 2048}, {2048, 1}},
                                    {call.inputs[1].data, LANEFOLD_TYPE_BF16, 1, {2048}, {1}}};
  const lanefold_view out[] = {{call.outputs[0].data, LANEFOLD_TYPE_BF16, 2, {12, 2048}, {2048, 1}}};
  const runtime::CudaStream stream = new_stream();
  ASSERT_EQ(lanefold_run_on_stream(kernel, in, 2, out, 1, nullptr, 0, stream.handle(), &error), LANEFOLD_OK)
      << error->message;
  ASSERT_TRUE(stream.synchronize().ok());
  EXPECT_EQ(difference(trial.program(), call.memory.outputs(), trial.exact()), "");
  EXPECT_EQ(lanefold_kernel_device(kernel), LANEFOLD_DEVICE_CUDA);
  lanefold_kernel_free(kernel);
}

TEST_F(CudaRunsOfTheFacade, ASecondDeviceHasKernelsOfItsOwn) {
  const auto second = runtime::CudaDevice::open(1);
  if (!second.ok()) GTEST_SKIP() << second.error().text();
  const Trial trial = filled("softmax", ElementType::f32, 40, 1000);
  const FacadeCall call(*second, trial);
  Options options = on_cuda();
  options.cuda_device = 1;
  const Kernel kernel = Kernel::compile_operator("softmax", Type::f32, options);
  const runtime::CudaStream stream = second->stream().value();
  call.run(kernel, stream.handle());
  ASSERT_TRUE(stream.synchronize().ok());
  EXPECT_EQ(difference(trial.program(), call.memory.outputs(), trial.exact()), "");
  EXPECT_EQ(refusal([&] { call.run(this->kernel("softmax", ElementType::f32), nullptr); }), "call_not_on_device")
      << "nobody has enabled peer access";
}

}  // namespace
}  // namespace lanefold::testing
