// The C ABI through its header: what it gives.
#include "lanefold/c.h"

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/test_c.h"

namespace lanefold::api {
namespace {

TEST(CAbi, Versions) {
  EXPECT_EQ(lanefold_abi_version(), LANEFOLD_ABI_VERSION);
  EXPECT_EQ(lanefold_version(), version());
  const char* const* names = nullptr;
  std::uint64_t count = 0;
  ASSERT_EQ(lanefold_operator_names(&names, &count, nullptr), LANEFOLD_OK);
  const std::vector<std::string> expected = operator_names();
  EXPECT_EQ(std::vector<std::string>(names, names + count), expected);
}

TEST(CAbi, RunsWhatTheFacadeRuns) {
  const OwnedKernel norm("rms_norm");
  Small small;
  const float parameters[] = {1e-6f, 0.0f};
  ASSERT_EQ(lanefold_run(norm.kernel, small.in, 2, small.out, 1, parameters, 2, nullptr), LANEFOLD_OK);
  float expected[16];
  norm.kernel->kernel.run({{"x", matrix(small.x, 2, 8)}, {"weight", per_column(small.weight, 8)}},
                          {{"y", matrix(expected, 2, 8)}}, {{"eps", 1e-6f}});
  EXPECT_EQ(std::memcmp(small.y, expected, sizeof expected), 0);
  EXPECT_NEAR(small.y[0], 1 / std::sqrt(204.0 / 8), 1e-5);
}

TEST(CAbi, RunsByNameInAnyOrderAndOverLeadingDimensions) {
  const lanefold_options options = no_disk();
  lanefold_kernel* kernel = nullptr;
  ASSERT_EQ(lanefold_compile_program(kTwo, &options, &kernel, nullptr), LANEFOLD_OK);
  float x[2 * 3 * 8], y[2 * 2 * 8] = {}, top[2 * 2 * 2] = {}, bias[4] = {10, 20, 30, 40};
  for (int i = 0; i < 48; ++i) x[i] = static_cast<float>(i);
  const lanefold_named_input inputs[] = {{"bias", {bias, LANEFOLD_TYPE_F32, 2, {2, 2, 0, 0}, {2, 1, 0, 0}}},
                                         {"x", {x, LANEFOLD_TYPE_F32, 3, {2, 2, 8, 0}, {24, 8, 1, 0}}}};
  const lanefold_named_output outputs[] = {{"top", {top, LANEFOLD_TYPE_F32, 3, {2, 2, 2, 0}, {4, 2, 1, 0}}},
                                           {"y", {y, LANEFOLD_TYPE_F32, 3, {2, 2, 8, 0}, {16, 8, 1, 0}}}};
  const lanefold_named_parameter factor = {"factor", -1, 0};
  ASSERT_EQ(lanefold_run_named(kernel, inputs, 2, outputs, 2, &factor, 1, nullptr), LANEFOLD_OK);
  for (int t = 0; t < 2; ++t)
    for (int h = 0; h < 2; ++h)
      for (int c = 0; c < 8; ++c) {
        EXPECT_EQ(y[(t * 2 + h) * 8 + c], bias[t * 2 + h] - x[t * 24 + h * 8 + c]);
        EXPECT_EQ(top[(t * 2 + h) * 2 + c / 4], x[t * 24 + h * 8 + c / 4 * 4 + 3]);
      }
  lanefold_kernel_free(kernel);
}

TEST(CAbi, TellsPortsAndParameters) {
  lanefold_kernel* kernel = nullptr;
  ASSERT_EQ(lanefold_compile_program(kTwo, nullptr, &kernel, nullptr), LANEFOLD_OK);
  EXPECT_STREQ(lanefold_kernel_name(kernel), "two");
  EXPECT_EQ(lanefold_kernel_device(kernel), static_cast<std::int32_t>(kernel->kernel.device()));
  ASSERT_EQ(lanefold_input_count(kernel), 2u);
  EXPECT_STREQ(lanefold_input(kernel, 1)->name, "bias");
  EXPECT_EQ(lanefold_input(kernel, 1)->kind, LANEFOLD_KIND_ROW);
  EXPECT_EQ(lanefold_input(kernel, 2), nullptr);
  ASSERT_EQ(lanefold_output_count(kernel), 2u);
  EXPECT_STREQ(lanefold_output(kernel, 1)->name, "top");
  EXPECT_EQ(lanefold_output(kernel, 1)->type, LANEFOLD_TYPE_F32);
  EXPECT_EQ(lanefold_output(kernel, 1)->kind, LANEFOLD_KIND_BLOCK);
  EXPECT_EQ(lanefold_output(kernel, 1)->block, 4);
  EXPECT_EQ(lanefold_output(kernel, ~std::uint64_t{0}), nullptr);
  ASSERT_EQ(lanefold_parameter_count(kernel), 1u);
  EXPECT_STREQ(lanefold_parameter_at(kernel, 0)->name, "factor");
  EXPECT_EQ(lanefold_parameter_at(kernel, 0)->value, 2.0f);
  EXPECT_EQ(lanefold_parameter_at(kernel, 1), nullptr);
  lanefold_kernel_free(kernel);
}

TEST(CAbi, NullKernelsHaveNothing) {
  EXPECT_EQ(lanefold_input_count(nullptr) + lanefold_output_count(nullptr) + lanefold_parameter_count(nullptr), 0u);
  EXPECT_EQ(lanefold_input(nullptr, 0), nullptr);
  EXPECT_EQ(lanefold_output(nullptr, 0), nullptr);
  EXPECT_EQ(lanefold_parameter_at(nullptr, 0), nullptr);
  EXPECT_EQ(lanefold_kernel_name(nullptr), nullptr);
  EXPECT_EQ(lanefold_kernel_device(nullptr), LANEFOLD_DEVICE_AUTOMATIC);
  lanefold_kernel_free(nullptr);
  lanefold_pool_free(nullptr);
  lanefold_error_free(nullptr);
  lanefold_string_free(nullptr);
  lanefold_report_free(nullptr);
}

TEST(CAbi, ChecksEveryElement) {
  const OwnedKernel norm("rms_norm");
  Small s;
  ASSERT_EQ(lanefold_prepare(norm.kernel, s.in, 2, s.out, 1, nullptr), LANEFOLD_OK);
  for (const float value : s.y) EXPECT_EQ(value, 0.0f);
  ASSERT_EQ(lanefold_run(norm.kernel, s.in, 2, s.out, 1, nullptr, 0, nullptr), LANEFOLD_OK);
  s.y[11] += 1;
  lanefold_report* report = nullptr;
  ASSERT_EQ(lanefold_check(norm.kernel, s.in, 2, s.out, 1, nullptr, 0, &report, nullptr), LANEFOLD_OK);
  EXPECT_EQ(report->ok, 0);
  ASSERT_EQ(report->count, 1u);
  EXPECT_STREQ(report->outputs[0]->name, "y");
  EXPECT_EQ(report->outputs[0]->elements, 16);
  EXPECT_EQ(report->outputs[0]->wrong, 1);
  EXPECT_EQ(report->outputs[0]->first_row, 1);
  EXPECT_EQ(report->outputs[0]->first_column, 3);
  lanefold_report_free(report);
}

TEST(CAbi, TextsAreTheCallers) {
  const OwnedKernel norm("rms_norm");
  const Kernel& facade = norm.kernel->kernel;
  const auto expect_text = [](std::int32_t status, char* text, const std::string& expected) {
    EXPECT_EQ(status, LANEFOLD_OK);
    EXPECT_EQ(text, expected);
    lanefold_string_free(text);
  };
  char* text = nullptr;
  std::int32_t status = lanefold_plan_line(norm.kernel, 4, 256, &text, nullptr);
  expect_text(status, text, facade.plan_line(4, 256));
  status = lanefold_plan_json(norm.kernel, 4, 256, &text, nullptr);
  expect_text(status, text, facade.plan_json(4, 256));
  status = lanefold_lane_text(norm.kernel, 4, 256, &text, nullptr);
  expect_text(status, text, facade.lane_text(4, 256));
  status = lanefold_emit(norm.kernel, 4, 256, LANEFOLD_EMIT_LANE, &text, nullptr);
  expect_text(status, text, facade.emit(4, 256, Emission::lane));
}

TEST(CAbi, TwoThreadsShareOneKernelOfAPool) {
  lanefold_pool* pool = nullptr;
  ASSERT_EQ(lanefold_pool_create(2, &pool, nullptr), LANEFOLD_OK);
  lanefold_options options = LANEFOLD_OPTIONS_INIT;
  options.disk_cache = 0;
  options.pool = pool;
  lanefold_kernel* kernel = nullptr;
  ASSERT_EQ(lanefold_compile_operator("softmax", LANEFOLD_TYPE_F32, &options, &kernel, nullptr), LANEFOLD_OK);
  lanefold_pool_free(pool);
  const int rounds = lanefold_kernel_device(kernel) == LANEFOLD_DEVICE_CPU ? 30 : 1;
  int wrong[2] = {};
  const auto work = [&](int which) {
    constexpr int kRows = 40, kCols = 1000;
    std::vector<float> x(kRows * kCols, 1.0f), y(x.size());
    const lanefold_const_view in = read_view(x.data(), kRows, kCols);
    const lanefold_view out = write_view(y.data(), kRows, kCols);
    for (int round = 0; round < rounds; ++round) {
      std::fill(y.begin(), y.end(), 0.0f);
      wrong[which] += lanefold_run(kernel, &in, 1, &out, 1, nullptr, 0, nullptr) != LANEFOLD_OK;
      for (const float value : y) wrong[which] += std::fabs(value - 1e-3f) > 1e-8f;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(wrong[0] + wrong[1], 0);
  lanefold_kernel_free(kernel);
}

}  // namespace
}  // namespace lanefold::api
