// What the order free does on its own: sums of exponentials that each lane shifts by a maximum of its own.
#include "conformance/special_values.h"
#include "target/target.h"

namespace lanefold::testing {
namespace {

TEST(FreeOrder, SumsShiftedByEachLanesMaximumHaveTheRowsSpecialValues) {
  for (const std::int64_t cols : {1, 33, 1000, 70000}) {
    Trial trial(operator_program("logsumexp"), 6, cols);
    const std::int64_t at = cols / 3;
    trial.fill(0, [&](std::int64_t r, std::int64_t c) {
      if (r == 0) return -kInf;
      if (r == 1) return c == at ? 2.0f : -kInf;
      if (r == 2) return c == at ? kInf : 1.0f;
      if (r == 3) return c == at ? std::nanf("") : -kInf;
      return r == 4 ? 3.0f : static_cast<float>(c % 7) - 90.0f;
    });
    auto options = on_device("lane-machine", ir::Order::free);
    options.target = *target::find("cuda-sm90");
    const Status status = trial.run(options);
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(trial.value(0, 0), -static_cast<double>(kInf)) << cols;
    EXPECT_EQ(trial.value(0, 1), 2.0) << cols;
    EXPECT_EQ(trial.value(0, 2), static_cast<double>(kInf)) << cols;
    EXPECT_TRUE(std::isnan(trial.value(0, 3))) << cols;
    EXPECT_NEAR(trial.value(0, 4), 3.0 + std::log(static_cast<double>(cols)), 1e-5) << cols;
    double sum = 0;
    for (std::int64_t c = 0; c < cols; ++c) sum += std::exp(static_cast<double>(c % 7) - 90.0);
    EXPECT_NEAR(trial.value(0, 5), std::log(sum), 2e-5) << cols;
  }
}

}  // namespace
}  // namespace lanefold::testing
