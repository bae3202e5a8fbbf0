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

}  // namespace
}  // namespace lanefold::bench
