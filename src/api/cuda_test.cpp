// Kernels of the facade on CUDA devices that are not there: which launches come into which stream, and what is refused.
#if LANEFOLD_CUDA
#include <thread>

#include "api/test_cuda.h"

namespace lanefold::api {
namespace {

/// What the driver without a device does.
runtime::fake::State& driver_state() {
  void* const library = ::dlopen(LANEFOLD_FAKE_CUDA, RTLD_NOW);
  return *reinterpret_cast<runtime::fake::State* (*)()>(::dlsym(library, "lanefold_fake_state"))();
}

// A process has one driver, found by whoever asks first: the one without a device, unless a test has named another.
const bool kOneDriver = [] {
  ::setenv("LANEFOLD_CUDA_DRIVER", LANEFOLD_FAKE_CUDA, 0);
  driver_state().devices = {runtime::fake::h200(), runtime::fake::h200()};
  return runtime::CudaDriver::get().ok();
}();

int opened_contexts() { return driver_state().alive["primary context"]; }

using lane::Role;

TEST_F(FacadeOnCuda, ACallIsOneLaunchInItsStream) {
  ASSERT_TRUE(kOneDriver);
  const std::vector<lane::Argument> arguments = tell_arguments(6, 1024);
  const Kernel kernel = norm();
  EXPECT_EQ(kernel.device(), Device::cuda);
  EXPECT_EQ(kernel.cuda_device(), 0);
  const runtime::CudaStream stream = new_stream();
  NormCall call;
  kernel.run(call.inputs(), call.outputs(), 6, 1024, {}, {stream.handle()});
  kernel.run(call.inputs(), call.outputs(), 6, 1024);
  kernel.run({{"weight", per_column(call.weight(), 1024)}, {"x", matrix(call.x(), 6, 1024)}},
             {{"y", matrix(call.y(), 6, 1024)}}, {{"eps", 0.5f}}, {stream.handle()});
  ASSERT_EQ(state().launches.size(), 3u);
  for (const runtime::fake::Launch& launch : state().launches) {
    EXPECT_EQ(address(arguments, launch, Role::input, 0), call.x());
    EXPECT_EQ(address(arguments, launch, Role::input, 1), call.weight());
    EXPECT_EQ(address(arguments, launch, Role::output, 0), call.y());
    EXPECT_GT(launch.grid[0], 0u);
  }
  EXPECT_EQ(state().launches[0].stream, stream.handle());
  EXPECT_EQ(state().launches[1].stream, nullptr) << "the default stream";
  EXPECT_EQ(state().launches[2].stream, stream.handle());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].role != Role::parameter || arguments[i].index != 0) continue;
    EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(state().launches[0].arguments[i])), 1e-6f);
    EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(state().launches[2].arguments[i])), 0.5f);
  }
  EXPECT_EQ(calls_of("cuModuleLoadData"), 1);
  expect_no_hidden_work();
}

TEST_F(FacadeOnCuda, LeadingDimensionsAreLaunchesInOneStream) {
  const std::vector<lane::Argument> arguments = tell_arguments(5, 64);
  const Kernel kernel = norm();
  const runtime::CudaStream stream = new_stream();
  NormCall memory(40, 64);
  const std::vector<ConstTensor> inputs = {strided(memory.x(), {3, 5, 64}, {640, 64, 1}), dense(memory.weight(), {64})};
  const std::vector<Tensor> outputs = {dense(memory.y(), {3, 5, 64})};
  kernel.prepare(inputs, outputs);
  EXPECT_TRUE(state().launches.empty());
  kernel.run(inputs, outputs, {}, {stream.handle()});
  ASSERT_EQ(state().launches.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const runtime::fake::Launch& launch = state().launches[i];
    EXPECT_EQ(launch.stream, stream.handle());
    EXPECT_EQ(address(arguments, launch, Role::input, 0), memory.x() + 640 * i);
    EXPECT_EQ(address(arguments, launch, Role::output, 0), memory.y() + 5 * 64 * i);
  }
  expect_no_hidden_work();
}

TEST_F(FacadeOnCuda, AKernelIsForTheDeviceThatIsSaid) {
  Options second = on_cuda();
  second.cuda_device = 1;
  NormCall call;
  const auto context_of_run = [&](const Kernel& kernel) {
    kernel.run(call.inputs(), call.outputs(), 6, 1024);
    return state().launches.back().context;
  };
  CUcontext one = device(1).context()->handle();
  {
    const Kernel kernel = norm(second);
    EXPECT_EQ(kernel.cuda_device(), 1);
    EXPECT_EQ(context_of_run(kernel), one);
    EXPECT_EQ(context_of_run(norm()), device(0).context()->handle());
  }
  for (const int wrong : {-1, 2}) {
    second.cuda_device = wrong;
    expect_error(Code::device_missing, [&] { norm(second); });
  }
  // The context of the thread comes before device 0.
  driver_->functions().context_push(one);
  const Kernel kernel = norm();
  driver_->functions().context_pop(&one);
  EXPECT_EQ(kernel.cuda_device(), 1);
  EXPECT_EQ(context_of_run(kernel), one);
}

TEST_F(FacadeOnCuda, MemoryThatTheDeviceDoesNotReachIsRefused) {
  NormCall call, other;
  const auto run = [&](const Kernel& kernel, NormCall& given) { kernel.run(given.inputs(), given.outputs(), 6, 1024); };
  const auto lies = [&](const float* data, runtime::fake::Foreign where) { state().foreign = {{data, where}}; };
  for (const bool is_error : {false, true}) {
    state().unknown_memory_is_an_error = is_error;
    const Kernel kernel = norm();
    lies(call.x(), {.bytes = 4});
    expect_error(Code::call_not_on_device, [&] { run(kernel, call); }, "input x");
    expect_error(Code::call_not_on_device, [&] { kernel.prepare(call.inputs(), call.outputs(), 6, 1024); }, "input x");
    expect_error(Code::call_not_on_device, [&] { kernel.check(call.inputs(), call.outputs(), 6, 1024); }, "input x");
    lies(call.y(), {.bytes = 4});
    expect_error(Code::call_not_on_device, [&] { run(kernel, call); }, "output y");
  }
  const Kernel kernel = norm();
  lies(call.weight(), {.bytes = 4, .device = 1});
  expect_error(Code::call_not_on_device, [&] { run(kernel, call); }, "input weight");
  EXPECT_TRUE(state().launches.empty());
  lies(call.weight(), {.bytes = 4, .device = 1, .peer_access = true});
  run(kernel, call);
  EXPECT_EQ(state().launches.size(), 1u);
  lies(other.x(), {.bytes = 4});
  expect_error(Code::call_not_on_device, [&] { run(kernel, other); }, "input x");
  // Where kernels reach all of the host's memory, nothing is asked.
  state().devices[0].attributes[runtime::cuda_api::kPageableMemoryAccess] = 1;
  run(norm(), other);
  EXPECT_EQ(state().launches.size(), 2u);
}

TEST_F(FacadeOnCuda, TheDriverIsAskedOnceOfAnAddress) {
  const Kernel kernel = norm();
  NormCall calls[] = {NormCall(), NormCall()};
  for (int turn = 0; turn < 3; ++turn)
    for (NormCall& call : calls) kernel.run(call.inputs(), call.outputs(), 6, 1024);
  EXPECT_EQ(state().launches.size(), 6u);
  EXPECT_GE(calls_of("cuPointerGetAttributes"), 6);
  EXPECT_LT(calls_of("cuPointerGetAttributes"), 18);
}

TEST_F(FacadeOnCuda, ACaptureTakesWhatIsCompiledAndRefusesWhatIsNot) {
  const Kernel kernel = norm();
  const runtime::CudaDevice device = this->device();
  const runtime::CudaStream stream = new_stream();
  NormCall call, wide(6, 4096);
  kernel.prepare(call.inputs(), call.outputs(), 6, 1024);
  EXPECT_EQ(calls_of("cuModuleLoadData"), 1);
  const auto graph = device.capture(stream.handle(), [&](CUstream captured) -> Status {
    kernel.run(call.inputs(), call.outputs(), 6, 1024, {}, {captured});
    expect_error(
        Code::capture_not_prepared, [&] { kernel.run(wide.inputs(), wide.outputs(), 6, 4096, {}, {captured}); },
        "rms_norm");
    kernel.run(call.inputs(), call.outputs(), 6, 1024, {}, {captured});
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(calls_of("cuModuleLoadData"), 1);
  EXPECT_TRUE(state().launches.empty());
  ASSERT_TRUE(graph->launch(stream.handle()).ok());
  EXPECT_EQ(state().launches.size(), 2u);
  expect_no_hidden_work();
}

TEST_F(FacadeOnCuda, ACaptureOfSomebodyElseIsNotDisturbed) {
  const Kernel kernel = norm();
  const runtime::CudaStream captured = new_stream(), stream = new_stream();
  NormCall call;
  const auto graph = device().capture(captured.handle(), [&](CUstream) -> Status {
    kernel.run(call.inputs(), call.outputs(), 6, 1024, {}, {stream.handle()});
    norm().prepare(call.inputs(), call.outputs(), 6, 1024);  // loaded, and unloaded again
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(state().launches.size(), 1u);
}

TEST_F(FacadeOnCuda, NothingIsCapturedOfACallWhoseLaterLaunchIsRefused) {
  const Kernel kernel = norm();
  const runtime::CudaStream stream = new_stream();
  NormCall memory(40, 64);
  // The second of two launches begins at an odd element, which is another class.
  const std::vector<ConstTensor> inputs = {strided(memory.x(), {2, 5, 64}, {641, 64, 1}), dense(memory.weight(), {64})};
  const std::vector<Tensor> outputs = {dense(memory.y(), {2, 5, 64})};
  kernel.prepare(std::vector<ConstMatrix>{matrix(memory.x(), 5, 64), per_column(memory.weight(), 64)},
                 std::vector<Matrix>{matrix(memory.y(), 5, 64)}, 5, 64);
  const auto graph = device().capture(stream.handle(), [&](CUstream captured) -> Status {
    expect_error(Code::capture_not_prepared, [&] { kernel.run(inputs, outputs, {}, {captured}); });
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_TRUE(graph->launch(stream.handle()).ok());
  EXPECT_TRUE(state().launches.empty());
}

constexpr char kCentred[] = R"(program centred(x: f32[rows, cols])
  mean = fold[rows] sum x / rows
  store y: f32[rows, cols] = x - mean
  store m: f32[cols] = mean
)";

TEST_F(FacadeOnCuda, StagesTakeTheirMemoryFromTheStream) {
  const Kernel kernel = Kernel::compile_program(kCentred, on_cuda());
  const runtime::CudaStream stream = new_stream();
  NormCall call(6, 64);
  const std::vector<ConstMatrix> inputs = {matrix(call.x(), 6, 64)};
  const std::vector<Matrix> outputs = {matrix(call.y(), 6, 64), per_column(call.weight(), 64)};
  const auto capture = [&](auto&& action) {
    return device().capture(stream.handle(), [&](CUstream captured) -> Status {
      action(captured);
      return success();
    });
  };
  ASSERT_TRUE(capture([&](CUstream captured) {
                expect_error(Code::capture_not_prepared, [&] { kernel.run(inputs, outputs, 6, 64, {}, {captured}); });
              }).ok());
  EXPECT_EQ(calls_of("cuMemAllocAsync"), 0);
  kernel.prepare(inputs, outputs, 6, 64);
  EXPECT_TRUE(state().launches.empty());
  const auto compiled = calls_of("cuModuleLoadData");
  EXPECT_GE(compiled, 2);
  state().calls.clear();
  kernel.run(inputs, outputs, 6, 64, {}, {stream.handle()});
  std::vector<std::string> order;
  for (const std::string& called : state().calls)
    if (called == "cuMemAllocAsync" || called == "cuLaunchKernelEx" || called == "cuMemFreeAsync")
      order.push_back(called);
  ASSERT_GE(order.size(), 4u);
  EXPECT_EQ(order.front(), "cuMemAllocAsync");
  EXPECT_EQ(order.back(), "cuMemFreeAsync");
  EXPECT_EQ(state().launches.size(), order.size() - 2);
  for (const runtime::fake::Launch& launch : state().launches) EXPECT_EQ(launch.stream, stream.handle());
  for (const char* waits : {"cuCtxSynchronize", "cuStreamSynchronize", "cuMemcpyDtoH_v2", "cuModuleLoadData"})
    EXPECT_EQ(calls_of(waits), 0) << waits;
  EXPECT_TRUE(capture([&](CUstream captured) { kernel.run(inputs, outputs, 6, 64, {}, {captured}); }).ok());
  // Nothing is launched where the device has no room.
  const std::size_t launched = state().launches.size();
  state().failures["cuMemAllocAsync"] = runtime::cuda_api::kOutOfMemory;
  expect_error(Code::out_of_memory, [&] { kernel.run(inputs, outputs, 6, 64); });
  EXPECT_EQ(state().launches.size(), launched);
  EXPECT_NE(kernel.plan_line(6, 64).find("stage 1 of 2"), std::string::npos) << kernel.plan_line(6, 64);
  const std::vector<ConstMatrix> none = {matrix(call.x(), 0, 64)};
  const std::vector<Matrix> of_none = {matrix(call.y(), 0, 64), per_column(call.weight(), 64)};
  expect_error(Code::no_columns, [&] { kernel.run(none, of_none, 0, 64); });
}

TEST_F(FacadeOnCuda, ThreadsAndStreamsShareAKernel) {
  const Kernel kernel = norm();
  const runtime::CudaStream streams[] = {new_stream(), new_stream()};
  NormCall calls[] = {NormCall(), NormCall()};
  constexpr int kCalls = 200;
  const auto work = [&](int which) {
    for (int i = 0; i < kCalls; ++i)
      kernel.run(calls[which].inputs(), calls[which].outputs(), 6, 1024, {}, {streams[which].handle()});
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  ASSERT_EQ(state().launches.size(), 2u * kCalls);
  for (const runtime::CudaStream& stream : streams)
    EXPECT_EQ(std::count_if(state().launches.begin(), state().launches.end(),
                            [&](const auto& launch) { return launch.stream == stream.handle(); }),
              kCalls);
  EXPECT_EQ(calls_of("cuModuleLoadData"), 1);
}

TEST_F(FacadeOnCuda, CheckComparesCopies) {
  const Kernel kernel = norm();
  NormCall call;
  for (std::int64_t i = 0; i < 7 * 1024; ++i) call.x()[i] = static_cast<float>(i % 13) - 5;
  // What the device would have stored.
  const Kernel same = Kernel::compile_operator("rms_norm", Type::f32, options());
  same.run(call.inputs(), call.outputs(), 6, 1024);
  EXPECT_TRUE(kernel.check(call.inputs(), call.outputs(), 6, 1024).ok());
  EXPECT_EQ(calls_of("cuCtxSynchronize"), 1);
  EXPECT_EQ(calls_of("cuMemcpyDtoH_v2"), 3);
  call.y()[2 * 1024 + 7] += 1;
  const CheckReport report = kernel.check(call.inputs(), call.outputs(), 6, 1024);
  EXPECT_EQ(report.outputs.at(0).wrong, 1);
  EXPECT_EQ(report.outputs[0].first_row, 2);
  EXPECT_EQ(report.outputs[0].first_column, 7);
  // Over rows that lie backwards.
  const std::vector<ConstTensor> inputs = {strided(call.x() + 5 * 1024, {6, 1024}, {-1024, 1}),
                                           dense(call.weight(), {1024})};
  const std::vector<Tensor> outputs = {strided(call.y() + 5 * 1024, {6, 1024}, {-1024, 1})};
  EXPECT_EQ(kernel.check(inputs, outputs).outputs[0].first_row, 3);
}

TEST_F(FacadeOnCuda, TextsAreTheDevices) {
  const Kernel kernel = norm();
  EXPECT_EQ(kernel.plan_line(64, 4096).find("cuda-sm90, canonical order"), 0u) << kernel.plan_line(64, 4096);
  EXPECT_NE(kernel.plan_json(64, 4096).find("\"cuda-sm90\""), std::string::npos);
  EXPECT_NE(kernel.lane_text(64, 4096).find("simd_width 32"), std::string::npos);
  const std::string source = kernel.emit(64, 4096, Emission::cuda);
  EXPECT_EQ(source.find("// rms_norm for 64 x 4096 on cuda-sm90, emitted by Lanefold"), 0u) << source.substr(0, 200);
  EXPECT_NE(source.find("__global__"), std::string::npos);
  EXPECT_NE(source.find("\n// Plan: canonical order"), std::string::npos);
  EXPECT_NE(source.find("are multiples of"), std::string::npos) << "what the source takes for granted";
  EXPECT_EQ(kernel.emit(64, 4096, Emission::lane).substr(0, 2), "# ");
  for (const Emission of_cpus : {Emission::llvm, Emission::assembly})
    expect_error(Code::no_machine_code, [&] { kernel.emit(64, 4096, of_cpus); }, "emission");
}

TEST_F(FacadeOnCuda, OtherDevicesHaveNoStreamsAndNoNumbers) {
  for (const Device device : {Device::automatic, Device::lane_machine}) {
    const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options(device));
    NormCall call(2, 8);
    EXPECT_EQ(kernel.cuda_device(), -1);
    expect_error(
        Code::call_has_no_stream, [&] { kernel.run(call.inputs(), call.outputs(), 2, 8, {}, Stream{}); }, "stream");
    expect_error(Code::no_source_language, [&] { kernel.emit(2, 8, Emission::cuda); }, "emission");
    Options numbered = options(device);
    numbered.cuda_device = 0;
    expect_error(
        Code::option_not_for_kernel, [&] { Kernel::compile_operator("sum", Type::f32, numbered); }, "cuda_device");
  }
  EXPECT_TRUE(state().launches.empty());
}

TEST(FacadeWithoutCuda, KernelsOfTheCpuLeaveGpusAlone) {
  // In a process of its own, where nobody has opened one before.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        NormCall call(2, 8);
        const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
        kernel.run(call.inputs(), call.outputs(), 2, 8);
        std::exit(opened_contexts());
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(FacadeWithoutCuda, SaysWhyThereIsNoDevice) {
  // In a process of its own: what is found first stays.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto before = std::getenv("LANEFOLD_CUDA_DRIVER");
  const std::string named = before ? before : "";
  ::setenv("LANEFOLD_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  EXPECT_EXIT(
      {
        Options options;
        options.device = Device::cuda;
        try {
          Kernel::compile_operator("rms_norm", Type::f32, options);
        } catch (const Error& error) {
          std::fprintf(stderr, "%s\n", error.what());
          std::exit(error.name() == code_name(Code::device_missing) ? 0 : 1);
        }
        std::exit(2);
      },
      ::testing::ExitedWithCode(0), "there is no CUDA driver here: /nowhere/libcuda");
  ::setenv("LANEFOLD_CUDA_DRIVER", named.c_str(), 1);
}

}  // namespace
}  // namespace lanefold::api
#endif
