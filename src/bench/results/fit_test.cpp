#include "bench/results/fit.h"

#include <gtest/gtest.h>

namespace lanefold::bench {
namespace {

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
