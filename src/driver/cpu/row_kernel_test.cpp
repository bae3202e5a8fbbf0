#include "driver/cpu/row_kernel.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "kernels/registry.h"
#include "plan/alternatives.h"

namespace lanefold::driver {
namespace {

/// A matrix of f32 whose first element lies `offset` elements past a multiple of 256 bytes.
class Floats {
 public:
  Floats(std::int64_t rows, std::int64_t cols, std::size_t offset = 0, std::int64_t gap = 0)
      : memory_(static_cast<std::size_t>(rows * (cols + gap)) + offset + 128, std::nanf("")) {
    const std::size_t past = std::bit_cast<std::uintptr_t>(memory_.data()) % 256 / sizeof(float);
    view = {.data = reinterpret_cast<std::byte*>(memory_.data() + 64 - past + offset),
            .rows = rows,
            .cols = cols,
            .row_stride = cols + gap};
  }
  float& at(std::int64_t r, std::int64_t c) { return *reinterpret_cast<float*>(view.at(r, c)); }
  void fill() {
    for (std::int64_t r = 0; r < view.rows; ++r)
      for (std::int64_t c = 0; c < view.cols; ++c) at(r, c) = static_cast<float>((r * 31 + c * 7) % 101 - 50) / 32;
  }
  std::vector<float> rows() {
    std::vector<float> all;
    for (std::int64_t r = 0; r < view.rows; ++r)
      for (std::int64_t c = 0; c < view.cols; ++c) all.push_back(at(r, c));
    return all;
  }

  View view;

 private:
  std::vector<float> memory_;
};

CompileOptions without_disk() {
  CompileOptions options;
  options.cache = KernelCache(std::nullopt);
  options.tuned = TunedPlans(std::nullopt);
  return options;
}

std::unique_ptr<RowKernel> kernel_of(std::string_view op, CompileOptions options = without_disk()) {
  auto kernel = RowKernel::create(*kernels::build(*kernels::find(op), ElementType::f32), std::move(options));
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().text());
  return std::move(kernel).value();
}

Status run(RowKernel& kernel, const View& in, const View& out, runtime::Executor& executor) {
  return kernel.run({.inputs = {&in, 1}, .outputs = {&out, 1}, .parameters = {}, .rows = in.rows, .cols = in.cols},
                    executor);
}

TEST(RowKernel, WidthsOfOneClassShareAKernel) {
  for (const ir::Order order : {ir::Order::canonical, ir::Order::serial, ir::Order::free}) {
    CompileOptions options = without_disk();
    options.order = order;
    const auto kernel = kernel_of("softmax", options);
    runtime::Executor executor(1);
    for (std::int64_t cols = 1000; cols <= 1100; ++cols) {
      Floats x(1, cols), y(1, cols);
      x.fill();
      const Status status = run(*kernel, x.view, y.view, executor);
      ASSERT_TRUE(status.ok()) << cols << ": " << status.error().text();
      double sum = 0;
      for (const float v : y.rows()) sum += v;
      ASSERT_NEAR(sum, 1, 1e-5) << cols;
    }
    EXPECT_LE(kernel->kernels(), 2u) << static_cast<int>(order);
    EXPECT_GE(kernel->kernels(), 1u);
  }
}

TEST(RowKernel, NoRowsAreNothingToDo) {
  const auto kernel = kernel_of("softmax");
  runtime::Executor executor(1);
  const View nothing{.rows = 0, .cols = 10, .row_stride = 10};
  EXPECT_TRUE(run(*kernel, nothing, nothing, executor).ok());
  EXPECT_EQ(kernel->kernels(), 0u);
}

TEST(RowKernel, WidthsThatNoPlanServesAreRefused) {
  for (const ir::Order order : {ir::Order::canonical, ir::Order::free}) {
    CompileOptions options = without_disk();
    options.order = order;
    const auto kernel = kernel_of("softmax", options);
    runtime::Executor executor(1);
    const auto view = [](std::uintptr_t at, std::int64_t cols) {
      return View{.data = reinterpret_cast<std::byte*>(at), .rows = 1, .cols = cols, .row_stride = cols};
    };
    for (const auto& [cols, code] :
         {std::pair(std::int64_t{0}, Code::no_columns), std::pair(std::int64_t{1} << 45, Code::too_many_columns)}) {
      // Nothing is read or written; far apart, so that the two do not overlap.
      const View in = view(std::uintptr_t{1} << 47, cols), out = view(std::uintptr_t{1} << 58, cols);
      const Status status = run(*kernel, in, out, executor);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, code) << status.error().text();
      const auto prepared =
          kernel->prepare({.inputs = {&in, 1}, .outputs = {&out, 1}, .parameters = {}, .rows = 1, .cols = cols});
      ASSERT_FALSE(prepared.ok());
      EXPECT_EQ(prepared.error().code, code);
    }
  }
}

TEST(RowKernel, CallsThatDoNotFitAreRefused) {
  const auto kernel = kernel_of("softmax");
  runtime::Executor executor(1);
  Floats x(2, 16), y(2, 16);
  View wrong = x.view;
  wrong.type = ElementType::bf16;
  const Status type = run(*kernel, wrong, y.view, executor);
  ASSERT_FALSE(type.ok());
  EXPECT_EQ(type.error().code, Code::call_type_mismatch);
  wrong = x.view;
  wrong.data += 4;
  const Status overlap = run(*kernel, x.view, wrong, executor);
  ASSERT_FALSE(overlap.ok());
  EXPECT_EQ(overlap.error().code, Code::output_overlaps_input);
}

TEST(RowKernel, OutputsMayLieExactlyOnInputs) {
  const auto kernel = kernel_of("softmax");
  runtime::Executor executor(2);
  for (const std::int64_t cols : {1, 7, 64, 1000, 5000, 40000}) {
    Floats x(5, cols), y(5, cols);
    x.fill();
    ASSERT_TRUE(run(*kernel, x.view, y.view, executor).ok());
    ASSERT_TRUE(run(*kernel, x.view, x.view, executor).ok());
    EXPECT_EQ(x.rows(), y.rows()) << cols;
  }
}

TEST(RowKernel, StreamingStoresWriteTheSameBytes) {
  // 32 MiB are read and written: beyond what stays in the cache.
  constexpr std::int64_t kRows = 1024, kCols = 4096;
  const auto kernel = kernel_of("softmax");
  runtime::Executor executor(2);
  Floats x(kRows, kCols), aligned(kRows, kCols), shifted(kRows, kCols, 1);
  x.fill();
  ASSERT_TRUE(run(*kernel, x.view, aligned.view, executor).ok());
  ASSERT_EQ(kernel->kernels(), 1u);
  ASSERT_TRUE(run(*kernel, x.view, shifted.view, executor).ok());
  EXPECT_EQ(kernel->kernels(), 2u) << "rows that begin anywhere cannot be streamed";
  EXPECT_TRUE(aligned.rows() == shifted.rows());
}

TEST(RowKernel, StridedColumnsGiveTheSame) {
  const auto kernel = kernel_of("softmax");
  runtime::Executor executor(1);
  Floats x(3, 100), y(3, 100), wide(3, 300), out(3, 200);
  x.fill();
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 100; ++c) wide.at(r, 3 * c) = x.at(r, c);
  View in = wide.view, to = out.view;
  in.cols = to.cols = 100;
  in.column_stride = 3;
  to.column_stride = 2;
  ASSERT_TRUE(run(*kernel, x.view, y.view, executor).ok());
  ASSERT_TRUE(run(*kernel, in, to, executor).ok());
  EXPECT_EQ(kernel->kernels(), 2u);
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 100; ++c) {
      ASSERT_EQ(out.at(r, 2 * c), y.at(r, c));
      ASSERT_TRUE(std::isnan(out.at(r, 2 * c + 1))) << "between the elements nothing is written";
    }
}

TEST(RowKernel, AGivenPlanIsUsedOrRefused) {
  const ir::Program softmax = *kernels::build(*kernels::find("softmax"), ElementType::f32);
  plan::Request request;
  request.cols = 1000;
  CompileOptions options = without_disk();
  options.plan = *plan::choose(softmax, options.target, request);
  runtime::Executor executor(1);
  Floats x(1, 1000), y(1, 1000), wide(1, 9000), wide_out(1, 9000);
  x.fill();
  const auto fitting = kernel_of("softmax", options);
  ASSERT_TRUE(run(*fitting, x.view, y.view, executor).ok());
  const Status beyond = run(*fitting, wide.view, wide_out.view, executor);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, Code::cols_outside_width_class);
  const auto other = kernel_of("layer_norm", options);
  const ir::Program& program = other->program();
  std::vector<View> inputs(program.inputs.size(), x.view);
  std::vector<float> parameters(program.parameters.size(), 1e-5f);
  const Status refused = other->run(
      {.inputs = inputs, .outputs = {&y.view, 1}, .parameters = parameters, .rows = 1, .cols = 1000}, executor);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::plan_for_other_program) << refused.error().text();
}

TEST(RowKernel, OneFreePlanServesEveryWidthItCovers) {
  CompileOptions options = without_disk();
  options.order = ir::Order::free;
  const auto kernel = kernel_of("sum", options);
  runtime::Executor executor(1);
  for (const std::int64_t cols : {1, 9, 300, 5000}) {
    Floats x(2, cols), y(2, 1);
    x.fill();
    const Status status = kernel->run(
        {.inputs = {&x.view, 1}, .outputs = {&y.view, 1}, .parameters = {}, .rows = 2, .cols = cols}, executor);
    ASSERT_TRUE(status.ok()) << status.error().text();
  }
  EXPECT_EQ(kernel->kernels(), 1u);
}

/// A folder with tuned plans, which is removed afterwards.
class TunedRowKernelTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kRows = 5, kCols = 1000;
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-tuned-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  CompileOptions options() const {
    CompileOptions made = without_disk();
    made.tuned = TunedPlans(folder_);
    return made;
  }
  /// Stores a plan that the cost basis would not choose, and gives it.
  plan::Plan store_another() {
    plan::Request request;
    request.rows = kRows;
    request.cols = kCols;
    request.order = ir::Order::canonical;
    const TunedCall call = {
        .on = tuned_on_cpu(), .program = program_, .target = target::host(), .rows = kRows, .cols = kCols};
    const plan::Plan other = plan::legal_plans(program_, target::host(), request).value().back();
    EXPECT_TRUE(TunedPlans(folder_).store(call, {other, {.tuned_us = 1.5}}));
    return other;
  }
  /// The plan of the kernel that a call runs, and what it stores.
  std::pair<plan::Plan, std::vector<float>> run_with(CompileOptions made) {
    runtime::Executor executor(1);
    Floats x(kRows, kCols), y(kRows, kCols);
    x.fill();
    const auto kernel = kernel_of("softmax", std::move(made));
    EXPECT_TRUE(run(*kernel, x.view, y.view, executor).ok());
    const runtime::Call call = {
        .inputs = {&x.view, 1}, .outputs = {&y.view, 1}, .parameters = {}, .rows = kRows, .cols = kCols};
    return {kernel->prepare(call).value()->plan, y.rows()};
  }

  ir::Program program_ = kernels::build(*kernels::find("softmax"), ElementType::f32).value();
  std::filesystem::path folder_;
};

TEST_F(TunedRowKernelTest, ATunedPlanIsTakenAndTheBitsAreTheSame) {
  const auto [standard, before] = run_with(options());
  EXPECT_NE(standard.cost_basis, kMeasuredBasis);
  const plan::Plan other = store_another();
  ASSERT_NE(other.layout, standard.layout);
  const auto [tuned, after] = run_with(options());
  EXPECT_EQ(tuned.layout, other.layout);
  EXPECT_EQ(tuned.cost_basis, kMeasuredBasis);
  EXPECT_EQ(tuned.cost, 1.5);
  EXPECT_EQ(std::memcmp(before.data(), after.data(), before.size() * sizeof(float)), 0);
}

TEST_F(TunedRowKernelTest, WhoAsksForAPlanGetsWhatHeAskedFor) {
  const auto [standard, _] = run_with(without_disk());
  store_another();
  CompileOptions basis = options(), layout = options(), exact = options();
  basis.cost_basis = "cpu_traffic_v1";
  layout.layout = standard.layout;
  exact.plan = standard;
  for (const CompileOptions& asked : {basis, layout, exact, without_disk()}) {
    const plan::Plan got = run_with(asked).first;
    EXPECT_EQ(got.layout, standard.layout);
    EXPECT_NE(got.cost_basis, kMeasuredBasis);
  }
}

TEST_F(TunedRowKernelTest, OtherBuffersAndADamagedFileLeaveTheStandardPlan) {
  store_another();
  runtime::Executor executor(1);
  Floats x(kRows, 2 * kCols), y(kRows, kCols);
  x.fill();
  View strided = x.view;
  strided.cols = kCols;
  strided.column_stride = 2;
  const auto kernel = kernel_of("softmax", options());
  const runtime::Call call = {
      .inputs = {&strided, 1}, .outputs = {&y.view, 1}, .parameters = {}, .rows = kRows, .cols = kCols};
  EXPECT_NE(kernel->prepare(call).value()->plan.cost_basis, kMeasuredBasis);
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) - 1);
  EXPECT_NE(run_with(options()).first.cost_basis, kMeasuredBasis);
}

TEST(RowKernel, ThreadsMayCallAtOnce) {
  const auto kernel = kernel_of("softmax");
  runtime::Executor executor(2);
  const std::int64_t widths[] = {9, 300, 2000, 5000};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 12; ++i) {
        const std::int64_t cols = widths[(t + i) % 4];
        Floats x(40, cols), y(40, cols);
        x.fill();
        ASSERT_TRUE(run(*kernel, x.view, y.view, executor).ok());
        for (std::int64_t r = 0; r < 40; ++r) {
          double sum = 0;
          for (std::int64_t c = 0; c < cols; ++c) sum += y.at(r, c);
          ASSERT_NEAR(sum, 1, 1e-4) << cols;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(kernel->kernels(), 4u) << "no width class is compiled twice";
}

}  // namespace
}  // namespace lanefold::driver
