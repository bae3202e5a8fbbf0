// Row programs on a device that is not there: what is refused before anything is launched, and what a launch is given.
#include "driver/cuda/row_kernel.h"

#include <cstdlib>
#include <filesystem>

#include "driver/cuda/compiled_record.h"
#include "kernels/registry.h"
#include "plan/alternatives.h"
#include "runtime/cuda/test_fake_driver.h"
#include "runtime/cuda/test_nvrtc.h"

namespace lanefold::driver {
namespace {

constexpr std::int64_t kRows = 6, kCols = 1024;

class CudaRowKernelTest : public runtime::fake::FakeDriverTest {
 protected:
  static ir::Program program() { return kernels::build(*kernels::find("rms_norm"), ElementType::f32).value(); }

  std::unique_ptr<CudaRowKernel> make(std::optional<plan::Plan> plan = std::nullopt,
                                      TunedPlans tuned = TunedPlans(std::nullopt)) {
    CudaCompileOptions options;
    options.plan = std::move(plan);
    options.cache = runtime::CudaBinaryCache(std::nullopt);
    options.tuned = std::move(tuned);
    auto made = CudaRowKernel::create(program(), device(), std::move(options));
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return std::move(made).value();
  }

  /// A plan that reads vectors.
  plan::Plan plan_of_vectors() {
    plan::Request request;
    request.rows = kRows;
    request.cols = kCols;
    request.alignment = 4;
    return plan::choose(program(), device().target(), request).value();
  }

  /// Whether code can be made here; a failure where it must be.
  static bool can_compile() {
    const auto nvrtc = runtime::Nvrtc::get();
    EXPECT_TRUE(nvrtc.ok() || !runtime::nvrtc_required()) << nvrtc.error().text();
    return nvrtc.ok();
  }
};

/// A call of rms_norm over memory of its own: input and weight, then the output.
struct Norm {
  explicit Norm(std::int64_t rows = kRows, std::int64_t cols = kCols, std::int64_t gap = 0) : rows_(rows), cols_(cols) {
    const std::int64_t stride = cols + gap;
    inputs = {view(0, rows, stride), view(rows * stride + 64, 1, stride)};
    outputs = {view((rows + 1) * stride + 128, rows, stride)};
  }
  runtime::Call call() const {
    return {.inputs = inputs, .outputs = outputs, .parameters = parameters, .rows = rows_, .cols = cols_};
  }
  View view(std::int64_t at, std::int64_t rows, std::int64_t stride) {
    return {
        .data = memory.data() + at * 4, .type = ElementType::f32, .rows = rows, .cols = cols_, .row_stride = stride};
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines = std::vector<Line>(4096);
  std::span<std::byte> memory = {lines.data()->bytes, lines.size() * 64};
  std::vector<View> inputs, outputs;
  std::vector<float> parameters;

 private:
  std::int64_t rows_, cols_;
};

Norm fitted(const CudaRowKernel& kernel, std::int64_t rows = kRows, std::int64_t cols = kCols, std::int64_t gap = 0) {
  Norm norm(rows, cols, gap);
  for (const ir::Parameter& parameter : kernel.program().parameters)
    norm.parameters.push_back(static_cast<float>(parameter.value));
  return norm;
}

TEST_F(CudaRowKernelTest, APlanOfVectorsRefusesCallsThatAreNotAligned) {
  const plan::Plan plan = plan_of_vectors();
  ASSERT_GT(plan.width.alignment, 1u);
  const std::string vectors = "vectors of " + std::to_string(plan.width.alignment) + " elements";
  const auto kernel = make(plan);
  const auto refused = [&](const Norm& norm) {
    const auto prepared = kernel->prepare(norm.call());
    ASSERT_FALSE(prepared.ok());
    EXPECT_EQ(prepared.error().code, Code::call_misaligned);
    EXPECT_NE(prepared.error().message.find(vectors), std::string::npos) << prepared.error().text();
    const Status ran = kernel->run(norm.call(), nullptr);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, Code::call_misaligned);
  };
  for (const bool output : {false, true}) {
    Norm shifted = fitted(*kernel);
    (output ? shifted.outputs : shifted.inputs)[0].data += 4;
    refused(shifted);
  }
  refused(fitted(*kernel, kRows, kCols, 1));
  EXPECT_EQ(calls_of("cuModuleLoadData"), 0);
  EXPECT_EQ(calls_of("cuLaunchKernelEx"), 0);
  if (!can_compile()) GTEST_SKIP() << "no NVRTC: what the plan serves was not launched";
  const Norm aligned = fitted(*kernel);
  const Status ran = kernel->run(aligned.call(), nullptr);
  ASSERT_TRUE(ran.ok()) << ran.error().text();
  EXPECT_EQ(state().launches.size(), 1u);
}

TEST_F(CudaRowKernelTest, NoRowsLaunchNothing) {
  const auto kernel = make();
  const Norm none = fitted(*kernel, 0);
  const Status ran = kernel->run(none.call(), nullptr);
  ASSERT_TRUE(ran.ok()) << ran.error().text();
  EXPECT_EQ(kernel->kernels(), 0u);
  EXPECT_TRUE(state().launches.empty());
}

TEST_F(CudaRowKernelTest, WhereLargeClustersHaveNoRoomAPlanHasOthers) {
  if (!can_compile()) GTEST_SKIP() << "no NVRTC";
  constexpr std::int64_t kTenSegments = 10 * ir::CanonicalOrder::segment;
  const auto cluster = [&] {
    const auto kernel = make();
    const auto prepared = kernel->prepare(fitted(*kernel, 1, kTenSegments).call());
    EXPECT_TRUE(prepared.ok()) << prepared.error().text();
    return prepared->shape.cluster;
  };
  EXPECT_EQ(cluster(), 16u);
  state().active_clusters = 0;
  EXPECT_EQ(cluster(), 1u) << "ten segments do not fit into eight threadgroups";
}

TEST_F(CudaRowKernelTest, AClassIsCompiledOnce) {
  if (!can_compile()) GTEST_SKIP() << "no NVRTC";
  const auto kernel = make();
  for (const std::int64_t rows : {6, 7, 5}) {
    const Norm norm = fitted(*kernel, rows);
    const Status ran = kernel->run(norm.call(), nullptr);
    ASSERT_TRUE(ran.ok()) << ran.error().text();
  }
  EXPECT_EQ(kernel->kernels(), 1u);
  EXPECT_EQ(calls_of("cuModuleLoadData"), 1);
  ASSERT_EQ(state().launches.size(), 3u);
  const auto prepared = kernel->prepare(fitted(*kernel).call());
  ASSERT_TRUE(prepared.ok());
  const plan::Plan& plan = prepared->kernel->plan;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t rows = i == 0 ? 6 : i == 1 ? 7 : 5;
    const runtime::fake::Launch& launch = state().launches[i];
    EXPECT_EQ(launch.block[0], plan.threads);
    EXPECT_EQ(launch.grid[0], lane::launch_threadgroups(prepared->kernel->module.kernels[0], rows, kCols));
  }
  // Rows that do not begin at multiples of a vector are another class.
  const Norm odd = fitted(*kernel, kRows, kCols, 1);
  ASSERT_TRUE(kernel->run(odd.call(), nullptr).ok());
  EXPECT_EQ(kernel->kernels(), 2u);
}

TEST_F(CudaRowKernelTest, CodeThatWasCompiledBeforeIsNotCompiledAgain) {
  if (!can_compile()) GTEST_SKIP() << "no NVRTC";
  std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-code-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(pattern), std::filesystem::directory_iterator());
  };
  CudaCompileOptions options;
  options.plan = plan_of_vectors();
  options.cache = runtime::CudaBinaryCache(pattern);
  plan::Request request;
  request.cols = kCols;
  const runtime::CudaDevice opened = device();
  const Lowered lowered = lower_program(program(), opened.target(), request, options.plan).value();
  ASSERT_TRUE(compiled_record(lowered.module, opened.target(), ir::Order::canonical, options.cache).ok());
  EXPECT_EQ(files(), 1);
  const auto kernel = CudaRowKernel::create(program(), opened, options).value();
  ASSERT_TRUE(kernel->prepare(fitted(*kernel).call()).ok());
  EXPECT_EQ(files(), 1) << "the same kernel has another key";
  std::filesystem::remove_all(pattern);
}

TEST_F(CudaRowKernelTest, ATunedPlanIsTaken) {
  if (!can_compile()) GTEST_SKIP() << "no NVRTC";
  std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-tuned-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const TunedPlans tuned(pattern);
  const auto planned = [&](const Norm& norm) { return make(std::nullopt, tuned)->prepare(norm.call()).value(); };
  const Norm aligned = fitted(*make()), odd = fitted(*make(), kRows, kCols, 1);
  const plan::Plan standard = planned(aligned).kernel->plan;
  plan::Request request;
  request.rows = kRows;
  request.cols = kCols;
  request.alignment = alignment_of(program(), aligned.call());
  const ir::Program rms_norm = program();
  const runtime::CudaDevice opened = device();
  const plan::Plan other = plan::legal_plans(rms_norm, opened.target(), request).value().back();
  ASSERT_NE(other.layout, standard.layout);
  const TunedCall call = {.on = tuned_on_cuda(opened).value(),
                          .program = rms_norm,
                          .target = opened.target(),
                          .rows = kRows,
                          .cols = kCols,
                          .alignment = request.alignment};
  EXPECT_EQ(call.on.device.substr(0, 10), "Fake H200,");
  ASSERT_TRUE(tuned.store(call, {other, {.tuned_us = 1.5}}));
  EXPECT_EQ(planned(aligned).kernel->plan.layout, other.layout);
  EXPECT_EQ(planned(aligned).kernel->plan.cost_basis, kMeasuredBasis);
  EXPECT_NE(planned(odd).kernel->plan.cost_basis, kMeasuredBasis) << "it is not as aligned";
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace lanefold::driver
