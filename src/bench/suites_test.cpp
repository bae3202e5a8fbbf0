#include "bench/suites.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/test_requests.h"

namespace lanefold::bench {
namespace {

std::vector<CaseRequest> cases_of(const std::string& name, const std::vector<driver::KernelName>& kernels = {}) {
  return suite_cases(*find_suite(name).value(), kernels, request_for("sum", 1, 1).instance).value();
}

TEST(SuitesTest, PublishedHasTheTwelveCases) {
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> cases;
  for (const CaseRequest& c : cases_of("published"))
    cases.emplace(c.subject.kernel.text, c.subject.instance.rows, c.subject.instance.cols);
  EXPECT_EQ(cases.size(), 12u);
  for (const char* op : {"sum", "softmax", "rms_norm"}) {
    EXPECT_TRUE(cases.contains({op, 1, 127}));
    EXPECT_TRUE(cases.contains({op, 17, 257}));
    EXPECT_TRUE(cases.contains({op, 128, 1024}));
    EXPECT_TRUE(cases.contains({op, 64, 4096}));
  }
}

TEST(SuitesTest, FloorIsThreeHundredAndFortyTrivialLaunches) {
  for (const CaseRequest& c : cases_of("floor")) {
    EXPECT_EQ(c.subject.launches, 340);
    EXPECT_EQ(c.subject.instance.rows * c.subject.instance.cols, 1);
  }
}

TEST(SuitesTest, DecodeNormsStandBesideTheirOldForm) {
  const std::vector<CaseRequest> cases = cases_of("decode-norms");
  ASSERT_EQ(cases.size(), 2u);  // three norms a layer, and two
  EXPECT_EQ(cases[0].subject.launches, 102);
  EXPECT_EQ(cases[1].subject.launches, 68);
  for (const CaseRequest& c : cases) {
    ASSERT_TRUE(c.baseline);
    EXPECT_EQ(c.baseline->kernel.text, "rms_norm:per_lane");
    EXPECT_EQ(c.baseline->launches, c.subject.launches);
    EXPECT_EQ(c.subject.instance.cols, 2560);
    EXPECT_TRUE(c.subject.as_module);
  }
}

TEST(SuitesTest, GrowthReachesBothEnds) {
  std::int64_t least_cols = 1 << 30, most_cols = 0, least_rows = 1 << 30, most_rows = 0;
  for (const CaseRequest& c : cases_of("growth")) {
    least_cols = std::min(least_cols, c.subject.instance.cols);
    most_cols = std::max(most_cols, c.subject.instance.cols);
    least_rows = std::min(least_rows, c.subject.instance.rows);
    most_rows = std::max(most_rows, c.subject.instance.rows);
  }
  EXPECT_EQ(least_cols, 32);
  EXPECT_EQ(most_cols, 1 << 20);
  EXPECT_EQ(least_rows, 1);
  EXPECT_EQ(most_rows, 1 << 16);
}

TEST(SuitesTest, KernelsOfTheUserTakeTheShapes) {
  const auto cases = cases_of("norms", {driver::parse_kernel_name("max").value()});
  ASSERT_EQ(cases.size(), 6u);
  for (const CaseRequest& c : cases) EXPECT_EQ(c.subject.kernel.text, "max");
  EXPECT_EQ(suite_cases(*find_suite("floor").value(), {driver::parse_kernel_name("max").value()}, {}).error().code,
            Code::kernel_not_for_verb);
  EXPECT_EQ(find_suite("no").error().code, Code::unknown_suite);
}

CaseRecord grown(std::int64_t rows, std::int64_t cols, double us) {
  CaseRecord record;
  record.id = std::to_string(rows) + "x" + std::to_string(cols);
  record.suite = "growth";
  record.kernel = "rms_norm";
  record.dtype = "f32";
  record.rows = rows;
  record.cols = cols;
  record.bytes_read = record.bytes_written = rows * cols * 4;
  ArmRecord arm;
  arm.role = "subject";
  arm.wall_us = {us, us * 1.5, us};
  record.arms.push_back(arm);
  return record;
}

TEST(FitTest, FindsLaunchAndBandwidth) {
  std::vector<CaseRecord> cases;
  for (std::int64_t cols = 32; cols <= 1 << 20; cols *= 2)
    cases.push_back(grown(16, cols, 2.5 + static_cast<double>(16 * cols * 8) / 20e3));  // 20 GB/s
  for (std::int64_t rows = 1; rows <= 1 << 16; rows *= 2)
    cases.push_back(grown(rows, 256, 2.5 + static_cast<double>(rows * 256 * 8) / 20e3));
  const std::vector<FitRecord> fits = fit_growth(cases);
  ASSERT_EQ(fits.size(), 2u);
  EXPECT_EQ(fits[0].grows, "cols");
  EXPECT_EQ(fits[0].fixed, 16);
  EXPECT_EQ(fits[0].cases.size(), 17u);  // the shape 16 x 256 stands in both sweeps
  EXPECT_EQ(fits[1].grows, "rows");
  EXPECT_EQ(fits[1].fixed, 256);
  for (const FitRecord& fit : fits) {
    EXPECT_NEAR(fit.launch_us, 2.5, 1e-6);
    EXPECT_NEAR(fit.gb_per_s, 20, 1e-6);
  }
}

TEST(FitTest, ExactPointsFitExactlyAndNothingIsNegative) {
  std::vector<CaseRecord> cases;
  for (std::int64_t cols = 32; cols <= 4096; cols *= 2)
    cases.push_back(grown(7, cols, 3 + static_cast<double>(7 * cols * 8) / 10e3));
  FitRecord fit = fit_growth(cases).at(0);
  EXPECT_NEAR(fit.launch_us, 3, 1e-9);
  EXPECT_NEAR(fit.gb_per_s, 10, 1e-9);
  EXPECT_NEAR(fit.worst, 0, 1e-9);
  // Times that grow faster than the bytes would want a launch below zero.
  cases.clear();
  for (std::int64_t cols = 32; cols <= 4096; cols *= 2)
    cases.push_back(grown(7, cols, static_cast<double>(cols) * static_cast<double>(cols)));
  fit = fit_growth(cases).at(0);
  EXPECT_EQ(fit.launch_us, 0);
  EXPECT_GT(fit.worst, 0.5);
  // Times that fall would want a bandwidth below zero.
  cases.clear();
  for (std::int64_t cols = 32; cols <= 4096; cols *= 2)
    cases.push_back(grown(7, cols, 1e6 / static_cast<double>(cols)));
  fit = fit_growth(cases).at(0);
  EXPECT_GE(fit.launch_us, 0);
  EXPECT_GE(fit.gb_per_s, 0);
}

TEST(FitTest, FailedCasesAndOtherSuitesAreLeftOut) {
  std::vector<CaseRecord> cases = {grown(1, 32, 1), grown(1, 64, 2), grown(1, 128, 3)};
  EXPECT_EQ(fit_growth(cases).size(), 1u);
  cases[1].failure = Failure{};
  EXPECT_TRUE(fit_growth(cases).empty());
  cases[1].failure.reset();
  cases[2].suite = "norms";
  EXPECT_TRUE(fit_growth(cases).empty());
}

}  // namespace
}  // namespace lanefold::bench
