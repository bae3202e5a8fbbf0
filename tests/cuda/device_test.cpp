// Row programs on a CUDA device over its own memory: streams, graphs, huge matrices, odd places. Skipped without a device,
// unless LANEFOLD_TEST_DEVICE=cuda says that there must be one.
#include <fmt/format.h>

#include "conformance/hand_written_sizes.h"
#include "conformance/operator_table.h"
#include "cuda/device_memory.h"
#include "driver/cuda/row_kernel.h"
#include "verify/cuda_copies.h"
#include "verify/module_check.h"

namespace lanefold::testing {
namespace {

using driver::CudaRowKernel;

class CudaRuns : public ::testing::Test {
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

  std::unique_ptr<CudaRowKernel> kernel(const ir::Program& program, std::optional<plan::Plan> plan = {}) const {
    driver::CudaCompileOptions options;
    options.plan = std::move(plan);
    if (std::getenv("LANEFOLD_CACHE_DIR") == nullptr) options.cache = runtime::CudaBinaryCache(std::nullopt);
    auto made = CudaRowKernel::create(program, *device_, std::move(options));
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return std::move(made).value();
  }
  /// Runs and waits; a failure is the test's.
  void run(CudaRowKernel& kernel, const runtime::Call& call) const {
    const Status ran = kernel.run(call, nullptr);
    ASSERT_TRUE(ran.ok()) << ran.error().text();
    const Status ended = device_->synchronize();
    ASSERT_TRUE(ended.ok()) << ended.error().text();
  }

  std::optional<runtime::CudaDevice> device_;
};

Trial filled(std::string_view op, ElementType storage, std::int64_t rows, std::int64_t cols, std::uint64_t seed = 1) {
  const ConformanceRow& row = *conformance_row(op);
  Trial trial(operator_program(op, storage), rows, whole_columns(row, cols));
  trial.fill_random(seed, row.low, row.high);
  return trial;
}

// Rows repeat with a prime period, so that an index that wraps at 2^31 or 2^32 meets another row.
TEST_F(CudaRuns, MoreThanTwoToThe31Elements) {
  constexpr std::int64_t kCols = 2048, kRows = 1'100'000, kPeriod = 1009;
  constexpr std::size_t kRowBytes = 2 * kCols;
  static_assert(kRows * kCols > std::int64_t{1} << 31);
  const Trial trial = filled("rms_norm", ElementType::bf16, kPeriod, kCols);
  const auto x = device_->allocate(kRows * kRowBytes), y = device_->allocate(kRows * kRowBytes);
  for (const auto* buffer : {&x, &y})
    if (!buffer->ok() && buffer->error().code == Code::out_of_memory) GTEST_SKIP() << buffer->error().text();
  ASSERT_TRUE(x.ok() && y.ok());
  ASSERT_TRUE(y->fill(std::byte{0xff}).ok());
  const Bytes block = [&] {
    const View& view = trial.inputs[0];
    return Bytes(view.data, view.data + kPeriod * static_cast<std::int64_t>(kRowBytes));
  }();
  const auto each_block = [&](const auto& visit) {
    for (std::int64_t row = 0; row < kRows; row += kPeriod)
      visit(static_cast<std::size_t>(row) * kRowBytes,
            static_cast<std::size_t>(std::min(kPeriod, kRows - row)) * kRowBytes);
  };
  each_block([&](std::size_t at, std::size_t size) { ASSERT_TRUE(x->write(std::span(block).first(size), at).ok()); });
  const auto view = [&](const runtime::CudaBuffer& buffer) {
    return View{static_cast<std::byte*>(buffer.data()), ElementType::bf16, kRows, kCols, kCols, 1};
  };
  const DeviceMatrix weight(*device_, trial.inputs[1], {});
  const std::vector<View> inputs = {view(*x), weight.view()}, outputs = {view(*y)};
  const auto kernel = this->kernel(trial.program());
  run(*kernel, {.inputs = inputs, .outputs = outputs, .parameters = trial.parameters, .rows = kRows, .cols = kCols});
  const Bytes expected = trial.exact()[0];
  Bytes got(block.size());
  std::int64_t wrong = 0;
  each_block([&](std::size_t at, std::size_t size) {
    ASSERT_TRUE(y->read(std::span(got).first(size), at).ok());
    if (std::memcmp(got.data(), expected.data(), size) == 0) return;
    if (wrong++ == 0) ADD_FAILURE() << "wrong from row " << at / kRowBytes << " on";
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaRuns, TwoStreamsAtOnce) {
  const Trial trials[] = {filled("softmax", ElementType::f32, 777, 1000),
                          filled("rms_norm", ElementType::bf16, 999, 4096)};
  std::vector<std::unique_ptr<CudaRowKernel>> kernels;
  std::vector<runtime::CudaStream> streams;
  std::vector<DeviceCall> calls;
  std::vector<driver::CudaLaunch> launches;
  for (const Trial& trial : trials) {
    kernels.push_back(kernel(trial.program()));
    streams.push_back(device_->stream().value());
    calls.emplace_back(*device_, trial);
    auto prepared = kernels.back()->prepare(calls.back().call());
    ASSERT_TRUE(prepared.ok()) << prepared.error().text();
    launches.push_back(std::move(prepared).value());
  }
  for (int repeat = 0; repeat < 50; ++repeat)
    for (std::size_t s = 0; s < 2; ++s) ASSERT_TRUE(kernels[s]->launch(launches[s], streams[s].handle()).ok());
  for (std::size_t s = 0; s < 2; ++s) {
    ASSERT_TRUE(streams[s].synchronize().ok());
    EXPECT_EQ(difference(trials[s].program(), calls[s].outputs(), trials[s].exact()), "");
  }
}

TEST_F(CudaRuns, AGraphReplaysTheSameBytes) {
  const Trial trials[] = {filled("layer_norm", ElementType::f16, 65, 768), filled("argmax", ElementType::f32, 3, 50257),
                          filled("residual_norm_q8", ElementType::bf16, 16, 2560)};
  std::vector<std::unique_ptr<CudaRowKernel>> kernels;
  std::vector<DeviceCall> calls;
  std::vector<driver::CudaLaunch> launches;
  for (const Trial& trial : trials) {
    kernels.push_back(kernel(trial.program()));
    calls.emplace_back(*device_, trial);
    auto prepared = kernels.back()->prepare(calls.back().call());
    ASSERT_TRUE(prepared.ok()) << prepared.error().text();
    launches.push_back(std::move(prepared).value());
  }
  const runtime::CudaStream stream = device_->stream().value();
  const auto graph = device_->capture(stream.handle(), [&](CUstream captured) -> Status {
    for (std::size_t k = 0; k < launches.size(); ++k) LANEFOLD_CHECK(kernels[k]->launch(launches[k], captured));
    return success();
  });
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (int replay = 0; replay < 3; ++replay) {
    for (const DeviceCall& call : calls) call.poison();
    ASSERT_TRUE(graph->launch(stream.handle()).ok());
    ASSERT_TRUE(stream.synchronize().ok());
    for (std::size_t k = 0; k < calls.size(); ++k)
      EXPECT_EQ(difference(trials[k].program(), calls[k].outputs(), trials[k].exact()), "") << "replay " << replay;
  }
}

TEST_F(CudaRuns, NoRowsStoreNothing) {
  const Trial trial = filled("softmax", ElementType::f32, 0, 1000);
  const DeviceCall call(*device_, trial);
  const auto kernel = this->kernel(trial.program());
  run(*kernel, call.call());
  EXPECT_EQ(kernel->kernels(), 0u);
  EXPECT_TRUE(call.outputs()[0].empty());
}

struct Point {
  const char* op;
  ElementType storage;
};

class CudaRunsOf : public CudaRuns, public ::testing::WithParamInterface<Point> {
 protected:
  Trial trial(std::int64_t rows, std::int64_t cols, std::uint64_t seed = 1) const {
    return filled(GetParam().op, GetParam().storage, rows, cols, seed);
  }
};

/// Rows alone, in chunks and all at once: a row's bytes do not depend on its company.
TEST_P(CudaRunsOf, RowsInChunksHaveTheSameBytes) {
  for (const std::int64_t cols : {96, 1000, 4096}) {
    const Trial whole = trial(700, cols);
    const std::vector<Bytes> expected = whole.exact();
    const DeviceCall call(*device_, whole);
    const auto kernel = this->kernel(whole.program());
    run(*kernel, call.call());
    EXPECT_EQ(difference(whole.program(), call.outputs(), expected), "") << "all at once, " << cols << " columns";
    for (const std::int64_t chunk : {1, 7, 255}) {
      call.poison();
      std::vector<View> views;
      for (std::int64_t begin = 0; begin < 700; begin += chunk) {
        const Status ran = kernel->run(call.rows(whole.program(), begin, std::min(chunk, 700 - begin), views), nullptr);
        ASSERT_TRUE(ran.ok()) << ran.error().text();
      }
      ASSERT_TRUE(device_->synchronize().ok());
      EXPECT_EQ(difference(whole.program(), call.outputs(), expected), "")
          << "chunks of " << chunk << " rows, " << cols << " columns";
    }
  }
}

/// At the last width of each class and the first of the next, wherever the rows begin.
TEST_P(CudaRunsOf, WidthsAroundClassLimitsAtOddPlaces) {
  constexpr std::int64_t kMostCols = 40000;
  const auto kernel = this->kernel(operator_program(GetParam().op, GetParam().storage));
  const std::int64_t multiple = conformance_row(GetParam().op)->column_multiple;
  int classes = 0;
  for (std::int64_t first = multiple; first <= kMostCols; ++classes) {
    const Trial probe = trial(3, first);
    const DeviceCall probed(*device_, probe);
    const auto prepared = kernel->prepare(probed.call());
    ASSERT_TRUE(prepared.ok()) << prepared.error().text();
    const plan::WidthClass& width = prepared->kernel->plan.width;
    ASSERT_LE(width.min_cols, first);
    ASSERT_GE(width.max_cols, first);
    const std::int64_t last = std::min(width.max_cols, kMostCols) / multiple * multiple;
    for (const std::int64_t cols : {first, last}) {
      const Trial trial = this->trial(3, cols, static_cast<std::uint64_t>(cols));
      const std::vector<Bytes> expected = trial.exact();
      for (const DevicePlace& place : {DevicePlace{0, 0}, DevicePlace{1, 0}, DevicePlace{0, 1}, DevicePlace{3, 5}}) {
        SCOPED_TRACE(std::to_string(cols) + " columns, offset " + std::to_string(place.offset) + ", gap " +
                     std::to_string(place.row_gap));
        const DeviceCall call(*device_, trial, place);
        run(*kernel, call.call());
        ASSERT_EQ(difference(trial.program(), call.outputs(), expected), "");
      }
    }
    first = last + multiple;
  }
  EXPECT_GE(classes, 3);
}

INSTANTIATE_TEST_SUITE_P(Operators, CudaRunsOf,
                         ::testing::Values(Point{"softmax", ElementType::f32}, Point{"rms_norm", ElementType::bf16},
                                           Point{"argmax", ElementType::f16}, Point{"layer_norm", ElementType::e4m3},
                                           Point{"residual_norm_q8", ElementType::bf16}),
                         [](const auto& tested) {
                           return std::string(tested.param.op) + "_" + std::string(element_name(tested.param.storage));
                         });

/// With the plans of many rows, whose workers hold 32 to 64 elements each, and a last chunk that some lanes leave out.
TEST_F(CudaRuns, RowsThatStayPacked) {
  for (const std::string_view op : {"rms_norm", "layer_norm", "softmax", "logsumexp", "cross_entropy", "argmax",
                                    "argmin", "max", "residual_norm_store", "rms_norm_q8"})
    for (const ElementType storage : {ElementType::bf16, ElementType::f16})
      for (const std::int64_t cols : {1960, 2560, 8160, 32704, 40000}) {
        SCOPED_TRACE(fmt::format("{} {} {}", op, element_name(storage), cols));
        const Trial trial = filled(op, storage, 5, cols, static_cast<std::uint64_t>(cols));
        plan::Request request;
        request.rows = 8192;
        request.cols = trial.cols();
        request.alignment = 8;
        auto plan = plan::choose(trial.program(), device_->target(), request);
        ASSERT_TRUE(plan.ok()) << plan.error().text();
        const auto kernel = this->kernel(trial.program(), *plan);
        const DeviceCall call(*device_, trial);
        run(*kernel, call.call());
        EXPECT_EQ(difference(trial.program(), call.outputs(), trial.exact()), "");
      }
}

TEST_F(CudaRuns, AnOutputInThePlaceOfItsInput) {
  for (const char* op : {"softmax", "rms_norm", "layer_norm"})
    for (const std::int64_t cols : {64, 1000, 4096, 33024}) {
      SCOPED_TRACE(std::string(op) + ' ' + std::to_string(cols));
      const Trial trial = filled(op, ElementType::f32, 5, cols);
      std::vector<DeviceMatrix> matrices;
      std::vector<View> inputs;
      for (const View& input : trial.inputs)
        inputs.push_back(matrices.emplace_back(*device_, input, DevicePlace{}).view());
      const std::vector<View> outputs = {inputs[0]};
      const auto kernel = this->kernel(trial.program());
      run(*kernel,
          {.inputs = inputs, .outputs = outputs, .parameters = trial.parameters, .rows = 5, .cols = trial.cols()});
      EXPECT_EQ(difference(trial.program(), {matrices[0].bytes()}, trial.exact()), "");
    }
}

/// Lane modules that are written by hand store what the lane machine stores.
TEST_F(CudaRuns, HandWrittenModulesHaveTheLaneMachinesDigests) {
  for (const kernels::HandWritten& op : kernels::hand_written())
    for (const kernels::WeightFormat weights : {kernels::WeightFormat::bf16, kernels::WeightFormat::q8_0})
      for (const kernels::FormFact& form : op.forms) {
        if (!form.right || (weights == kernels::WeightFormat::q8_0 && !op.has_weights)) continue;
        const verify::Instance instance =
            made(std::string(op.name) + ":" + std::string(form.name), small(op, 3, weights));
        SCOPED_TRACE(instance.name);
        const auto device = verify::digest_module(instance, on_device("cuda"));
        ASSERT_TRUE(device.ok()) << device.error().text();
        const auto machine = verify::digest_module(instance, on_device("lane-machine"));
        ASSERT_TRUE(machine.ok()) << machine.error().text();
        EXPECT_EQ(*device, *machine);
      }
}

}  // namespace
}  // namespace lanefold::testing
