#include "bench/ab.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "bench/bytes_verdict.h"
#include "bench/test_requests.h"

namespace lanefold::bench {
namespace {

double ulp(float a, float b) {
  std::byte x[4], y[4];
  std::memcpy(x, &a, 4);
  std::memcpy(y, &b, 4);
  return ulp_distance(x, y, ElementType::f32);
}

TEST(UlpDistanceTest, CountsRepresentableValues) {
  EXPECT_EQ(ulp(1.0f, 1.0f), 0);
  EXPECT_EQ(ulp(1.0f, std::nextafter(1.0f, 2.0f)), 1);
  EXPECT_EQ(ulp(std::nextafter(1.0f, 0.0f), std::nextafter(1.0f, 2.0f)), 2);
  EXPECT_EQ(ulp(-0.0f, 0.0f), 1);
  EXPECT_EQ(ulp(std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::denorm_min()), 3);
  EXPECT_EQ(ulp(std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()), 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ulp(nan, -nan), 0);
  EXPECT_EQ(ulp(nan, 1.0f), 4294967296.0);
}

TEST(UlpDistanceTest, KnowsNarrowAndWholeTypes) {
  const auto bf16 = [](std::uint16_t a, std::uint16_t b) {
    return ulp_distance(reinterpret_cast<const std::byte*>(&a), reinterpret_cast<const std::byte*>(&b),
                        ElementType::bf16);
  };
  EXPECT_EQ(bf16(0x3f80, 0x3f82), 2);
  EXPECT_EQ(bf16(0x8001, 0x0001), 3);
  const std::int8_t low = -127, high = 127;
  EXPECT_EQ(ulp_distance(reinterpret_cast<const std::byte*>(&low), reinterpret_cast<const std::byte*>(&high),
                         ElementType::i8),
            254);
  const std::uint8_t e4m3[] = {0x38, 0x3a};
  EXPECT_EQ(ulp_distance(reinterpret_cast<const std::byte*>(&e4m3[0]), reinterpret_cast<const std::byte*>(&e4m3[1]),
                         ElementType::e4m3),
            2);
}

#if LANEFOLD_JIT
AbRequest request(const std::string& a, const std::string& b, std::int64_t rows, std::int64_t cols) {
  AbRequest made;
  made.a = request_for(a, rows, cols);
  made.b = request_for(b, rows, cols);
  made.pairs = 2;
  made.repetitions = 2;
  made.repetition_ms = 0.02;
  made.warmup_ms = 0;
  return made;
}

TEST(AbTest, TheSameKernelIsProvedEqual) {
  const ComparisonRecord record = compare_kernels(request("softmax", "softmax", 3, 200), {}).value();
  EXPECT_EQ(record.bytes, kEqualForAll);
  EXPECT_FALSE(record.max_ulp);
  EXPECT_FALSE(record.failure);
  ASSERT_EQ(record.pairs.size(), 6u);
  std::multiset<PairKind> kinds;
  for (const Pair& pair : record.pairs) {
    kinds.insert(pair.turn.kind);
    EXPECT_GT(pair.first_us, 0);
    EXPECT_GT(pair.second_us, 0);
  }
  EXPECT_EQ(kinds.count(PairKind::ab), 2u);
  EXPECT_EQ(kinds.count(PairKind::aa), 2u);
  ASSERT_TRUE(record.verdict);
  EXPECT_EQ(record.verdict->claim, Claim::no_difference_shown);  // two pairs are too few for any claim
}

TEST(AbTest, OrdersDifferAndBothAreRight) {
  AbRequest asked = request("rms_norm", "rms_norm", 4, 1000);
  asked.b.instance.options.order = ir::Order::free;
  const ComparisonRecord record = compare_kernels(asked, {}).value();
  EXPECT_EQ(record.bytes, kDiffer);
  ASSERT_TRUE(record.max_ulp);
  EXPECT_GE(*record.max_ulp, 1);
  EXPECT_LE(*record.max_ulp, 64);
  EXPECT_FALSE(record.failure);
  EXPECT_TRUE(record.verdict);
}

TEST(AbTest, WithoutAProofEqualBytesAreEqualOnTheseOnly) {
  AbRequest asked = request("rms_norm", "rms_norm", 4, 300);
  asked.proof = ProofEffort::none;
  const ComparisonRecord record = compare_kernels(asked, {}).value();
  EXPECT_EQ(record.bytes, kEqualOnThese);
  EXPECT_NE(record.bytes_detail.find("extreme"), std::string::npos) << record.bytes_detail;
}

TEST(AbTest, OldAndNewFormsStandSideBySide) {
  AbRequest asked = request("gr_up:old", "gr_up:new", 1, 1);
  for (SubjectRequest* side : {&asked.a, &asked.b}) side->instance.sizes.values = {{"tokens", 2}, {"rank", 64}};
  asked.proof = ProofEffort::all;
  const ComparisonRecord record = compare_kernels(asked, {}).value();
  EXPECT_EQ(record.bytes, kEqualForAll);
  std::map<std::string, std::pair<double, double>> figures;
  for (const StaticFigure& figure : record.figures)
    figures[figure.name + ", " + figure.unit] = {figure.a.value_or(-1), figure.b.value_or(-1)};
  EXPECT_EQ(figures.at("threadgroup memory, bytes"), std::pair(2560.0, 2048.0));
  EXPECT_EQ(figures.at("barriers, sites in the text"), std::pair(2.0, 1.0));
  EXPECT_EQ(figures.at("barriers executed, of a call"), std::pair(320.0, 160.0));
}

TEST(AbTest, AnArmOutsideOfItsToleranceIsNotTimed) {
  AbRequest asked = request("gr_up:new", "gr_up:wrong_publishers", 1, 1);
  for (SubjectRequest* side : {&asked.a, &asked.b}) side->instance.sizes.values = {{"rank", 64}};
  const ComparisonRecord record = compare_kernels(asked, {}).value();
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->name, code_name(Code::output_wrong));
  EXPECT_TRUE(record.pairs.empty());
  EXPECT_FALSE(record.verdict);
}

TEST(AbTest, AllThreadgroupsAreProvedWhereThatIsAskedFor) {
  AbRequest asked = request("gr_norm:generic", "gr_norm:unrolled", 1, 1);
  for (SubjectRequest* side : {&asked.a, &asked.b}) side->instance.sizes.values = {{"tokens", 2}, {"hidden", 256}};
  asked.proof = ProofEffort::all;
  const ComparisonRecord all = compare_kernels(asked, {}).value();
  EXPECT_EQ(all.bytes, kEqualForAll);
  EXPECT_NE(all.bytes_detail.find("all 8 threadgroups"), std::string::npos) << all.bytes_detail;
}

TEST(AbTest, AnotherOperatorIsOutsideOfTheTolerance) {
  const ComparisonRecord record = compare_kernels(request("sum", "max", 3, 40), {}).value();
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->name, code_name(Code::output_wrong));
  EXPECT_EQ(record.bytes, kDiffer);
  EXPECT_TRUE(record.pairs.empty());
}

TEST(AbTest, DifferentBuffersAreRefused) {
  const auto refused = compare_kernels(request("sum", "softmax", 2, 64), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::prove_buffers_differ);
}

TEST(AbTest, ReadsOfThePerLaneFormAreCounted) {
  AbRequest asked = request("rms_norm:per_lane", "rms_norm", 1, 256);
  asked.a.as_module = asked.b.as_module = true;
  const ComparisonRecord record = compare_kernels(asked, {}).value();
  for (const StaticFigure& figure : record.figures)
    if (figure.name == "global reads" && figure.unit == "elements") {
      EXPECT_EQ(figure.a, 256.0 * 256 + 512);
      EXPECT_EQ(figure.b, 256.0 + 512);
    }
}
#endif

}  // namespace
}  // namespace lanefold::bench
