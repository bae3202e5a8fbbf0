#include "bench/arms/sampler.h"

#include <gtest/gtest.h>

namespace lanefold::bench {
namespace {

/// An arm with a clock of its own: each call takes `ns`, the first `cold` calls ten times as long.
class Clockwork final : public Arm {
 public:
  explicit Clockwork(double ns, std::string* log = nullptr, char name = 'a') : ns_(ns), log_(log), name_(name) {}
  Result<Timing> run(std::uint64_t calls) override {
    if (fail_after > 0 && --fail_after == 0) return Diagnostic{Code::peer_protocol, "gone", "", ""};
    ++runs;
    last = calls;
    Timing timing;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(calls, 64); ++i)
      timing.wall_ns += ns_ * (done++ < cold ? 10 : 1);
    if (calls > 64) {
      timing.wall_ns += ns_ * static_cast<double>(calls - 64);
      done += calls - 64;
    }
    if (device) timing.device_ns = timing.wall_ns / 2;
    if (log_ != nullptr) *log_ += name_;
    return timing;
  }
  Status restore() override {
    ++restores;
    if (log_ != nullptr) *log_ += '-';
    return success();
  }
  std::uint64_t done = 0, cold = 0, last = 0;
  int runs = 0, restores = 0, fail_after = 0;
  bool device = false;

 private:
  double ns_;
  std::string* log_;
  char name_;
};

TEST(SamplerTest, CalibratesBatchesToFourFifthsOfTheSample) {
  for (const double ns : {3.0, 180.0, 41000.0, 3e6, 79e6, 81e6, 5e9}) {
    Clockwork arm(ns);
    arm.cold = 1;
    const std::uint64_t calls = calibrate(arm, {}).value();
    EXPECT_GE(static_cast<double>(calls) * ns, 80e6) << ns;
    EXPECT_LE(static_cast<double>(calls) * ns, std::max(2 * ns, 180e6)) << ns;
  }
}

TEST(SamplerTest, WarmsUpForAsLongAsAsked) {
  Clockwork arm(1000);
  Protocol protocol;
  protocol.sample_ms = 1;
  protocol.warmup_ms = 50;
  ASSERT_TRUE(calibrate(arm, protocol));
  EXPECT_GE(static_cast<double>(arm.done) * 1000, 50e6);
  EXPECT_LE(static_cast<double>(arm.done) * 1000, 55e6);
  Clockwork cold(1000);
  protocol.warmup_ms = 0;
  ASSERT_TRUE(calibrate(cold, protocol));
  EXPECT_LE(static_cast<double>(cold.done) * 1000, 3e6);
}

TEST(SamplerTest, AClockThatDoesNotMoveIsRefused) {
  Clockwork arm(0);
  Protocol protocol;
  protocol.warmup_ms = 0;
  ASSERT_FALSE(calibrate(arm, protocol));
  EXPECT_EQ(calibrate(arm, protocol).error().code, Code::peer_protocol);
  Clockwork hardly(1e-320);
  EXPECT_FALSE(calibrate(hardly, {}));
}

TEST(SamplerTest, ArmsTakeTurnsAndRestoreBeforeEachSample) {
  std::string log;
  Clockwork a(10e6, &log, 'a'), b(20e6, &log, 'b'), c(5e6, &log, 'c');
  Protocol protocol;
  protocol.samples = 4;
  protocol.settle_ms = 0;
  std::vector<Arm*> arms = {&a, &b, &c};
  int most = 0;
  const std::vector<Sampled> sampled = sample_rounds(arms, protocol, [&](int done) { most = done; }).value();
  EXPECT_EQ(most, 12);
  ASSERT_EQ(sampled.size(), 3u);
  const double us[] = {10e3, 20e3, 5e3};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sampled[i].wall_us, std::vector<double>(4, us[i]));
    EXPECT_TRUE(sampled[i].device_us.empty());
  }
  EXPECT_EQ(sampled[0].turns, (std::vector<int>{0, 2, 1, 0}));
  EXPECT_EQ(sampled[1].turns, (std::vector<int>{1, 0, 2, 1}));
  ASSERT_GE(log.size(), 24u);
  EXPECT_EQ(log.substr(log.size() - 24), "-a-b-c-b-c-a-c-a-b-a-b-c");
}

TEST(SamplerTest, SettlesOnlyBetweenDifferentArms) {
  Clockwork alone(1e6);
  Protocol protocol;
  protocol.samples = 3;
  std::vector<Arm*> arms = {&alone};
  const std::vector<Sampled> one = sample_rounds(arms, protocol).value();
  const std::uint64_t without = alone.done;
  Clockwork x(1e6), y(1e6);
  std::vector<Arm*> two = {&x, &y};
  ASSERT_TRUE(sample_rounds(two, protocol));
  EXPECT_GE(x.done, without + 3 * 40);  // 40 ms of calls of 1 ms, three times
  EXPECT_EQ(one[0].calls, x.last);
}

TEST(SamplerTest, DeviceTimesArePerCallToo) {
  Clockwork arm(1e6);
  arm.device = true;
  Protocol protocol;
  protocol.samples = 2;
  std::vector<Arm*> arms = {&arm};
  const std::vector<Sampled> sampled = sample_rounds(arms, protocol).value();
  EXPECT_EQ(sampled[0].device_us, (std::vector<double>{500, 500}));
}

TEST(SamplerTest, SingleCallsAreTimedOneByOne) {
  Clockwork arm(7000);
  arm.cold = 2;
  Protocol protocol;
  protocol.single_calls = 4;
  EXPECT_EQ(single_calls(arm, protocol).value(), (std::vector<double>{70, 70, 7, 7}));
  EXPECT_EQ(arm.restores, 1);
}

TEST(SamplerTest, AnArmThatFailsIsLeftOutAndTheOthersGoOn) {
  Clockwork good(1e6), bad(1e6);
  bad.fail_after = 12;
  std::vector<Arm*> arms = {&good, &bad};
  const std::vector<Sampled> sampled = sample_rounds(arms, {}).value();
  EXPECT_EQ(sampled[0].wall_us.size(), 11u);
  EXPECT_FALSE(sampled[0].failure);
  ASSERT_TRUE(sampled[1].failure);
  EXPECT_EQ(sampled[1].failure->code, Code::peer_protocol);
  EXPECT_LT(sampled[1].wall_us.size(), 11u);
  EXPECT_EQ(sampled[1].turns.size(), sampled[1].wall_us.size());
}

TEST(SamplerTest, AFirstArmThatFailsEndsIt) {
  Clockwork good(1e6), bad(1e6);
  bad.fail_after = 12;
  std::vector<Arm*> arms = {&bad, &good};
  const auto sampled = sample_rounds(arms, {});
  ASSERT_FALSE(sampled);
  EXPECT_EQ(sampled.error().code, Code::peer_protocol);
}

}  // namespace
}  // namespace lanefold::bench
