#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "legality/rules.h"

namespace lanefold::legality {
namespace {

ir::Program parsed(std::string_view text) {
  auto p = ir::parse(text, "test");
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().text());
  return p.ok() ? *std::move(p) : ir::Program{};
}

ir::Program sum() { return parsed("program sum(x: f32[rows, cols])\n  store y: f32[rows] = fold sum x\n"); }

ir::Program blocks() {
  return parsed(
      "program blocks(x: f32[rows, cols])\n"
      "  d = fold<32> max abs(x) / 127\n"
      "  store q:     i8[rows, cols]     = quantize(x, d)\n"
      "  store scale: f32[rows, cols/32] = d\n");
}

class Rules : public testing::Test {
 protected:
  ir::Program program_ = sum();
  target::Target target_ = *target::find("metal-m1max");

  Question question() const {
    return {.program = program_,
            .cols = 1024,
            .workers_per_row = 32,
            .threads = 32,
            .virtual_lanes = 256,
            .block_span = 256,
            .target = target_};
  }
  static void expect(const Question& q, Code code, std::string_view says) {
    const auto d = first_violation(q);
    ASSERT_TRUE(d.has_value());
    EXPECT_EQ(d->code, code) << d->text();
    EXPECT_NE(d->message.find(says), std::string::npos) << d->message;
    EXPECT_FALSE(d->hint.empty());
    EXPECT_FALSE(d->place.empty());
  }
};

TEST_F(Rules, ALegalQuestionPassesAll) {
  EXPECT_FALSE(first_violation(question()).has_value());
  std::set<std::string_view> names;
  for (const NamedRule& r : rules()) EXPECT_TRUE(names.insert(r.name).second) << r.name;
}

TEST_F(Rules, SerialForbidsCooperation) {
  Question q = question();
  q.order = ir::Order::serial;
  expect(q, Code::order_forbids_cooperation, "32 workers");
  q.workers_per_row = 1;
  EXPECT_FALSE(first_violation(q).has_value());
}

TEST_F(Rules, OnlineLogsumexpNeedsFree) {
  program_ = parsed("program lse(x: f32[rows, cols])\n  store y: f32[rows] = fold logsumexp x\n");
  Question q = question();
  expect(q, Code::monoid_needs_free_order, "logsumexp");
  q.order = ir::Order::free;
  EXPECT_FALSE(first_violation(q).has_value());
}

TEST_F(Rules, OneKernelFoldsAlongColumns) {
  program_ = parsed("program means(x: f32[rows, cols])\n  store y: f32[cols] = fold[rows] sum x / rows\n");
  expect(question(), Code::unsupported_axis, "along rows");
  program_ = parsed("program doubled(w: f32[cols])\n  store y: f32[cols] = w * 2\n");
  expect(question(), Code::unsupported_axis, "output [cols]");
}

TEST_F(Rules, RowsHaveColumns) {
  Question q = question();
  q.cols = 0;
  expect(q, Code::no_columns, "0 columns");
  q.cols = 1;
  EXPECT_FALSE(first_violation(q).has_value());
}

TEST_F(Rules, ColumnIndicesAreThirtyTwoBits) {
  Question q = question();
  q.cols = std::numeric_limits<std::int32_t>::max();
  EXPECT_FALSE(first_violation(q).has_value());
  ++q.cols;
  expect(q, Code::too_many_columns, "2147483648");
}

TEST_F(Rules, BlocksAreWhole) {
  program_ = blocks();
  Question q = question();
  q.cols = 1000;
  expect(q, Code::columns_not_whole_blocks, "1000");
  q.cols = 992;
  EXPECT_FALSE(first_violation(q).has_value());
}

TEST_F(Rules, BlocksStayInOneSimdGroup) {
  program_ = blocks();
  Question q = question();
  q.block_span = 16;
  expect(q, Code::block_split, "block of 32");
  q.order = ir::Order::serial;
  q.workers_per_row = 1;
  EXPECT_FALSE(first_violation(q).has_value());
}

TEST_F(Rules, CanonicalWorkersArePowersOfTwo) {
  Question q = question();
  for (const std::uint32_t workers : {48u, 80u, 96u}) {
    q.workers_per_row = workers;
    expect(q, Code::workers_not_power_of_two, std::to_string(workers));
  }
  q.order = ir::Order::free;
  EXPECT_FALSE(first_violation(q).has_value());
  q.order = ir::Order::canonical;
  q.workers_per_row = 64;
  EXPECT_FALSE(first_violation(q).has_value());
}

TEST_F(Rules, WorkersOwnVirtualLanes) {
  Question q = question();
  q.workers_per_row = 512;
  expect(q, Code::more_workers_than_virtual_lanes, "512 workers");
}

TEST_F(Rules, ThreadsFitTheDevice) {
  Question q = question();
  q.threads = 2048;
  expect(q, Code::too_many_threads, "2048");
}

TEST_F(Rules, OneSimdGroupMerges) {
  target_ = *target::find("generic-4");
  Question q = question();
  q.workers_per_row = 32;
  expect(q, Code::too_many_simd_groups, "8 SIMD groups");
  q.workers_per_row = 16;
  EXPECT_FALSE(first_violation(q).has_value());
}

TEST_F(Rules, ThreadgroupMemoryFits) {
  Question q = question();
  q.threadgroup_bytes = 32 * 1024 + 4;
  expect(q, Code::threadgroup_memory_exceeded, "32772");
}

TEST_F(Rules, StripesFitRegisters) {
  Question q = question();
  q.private_stripe = 64;
  EXPECT_FALSE(first_violation(q).has_value());
  q.private_stripe = 65;
  expect(q, Code::private_stripe_exceeded, "65 values");
}

TEST_F(Rules, RulesOfTheProgramNeedNoPlan) {
  program_ = blocks();
  const auto d = program_violation(program_, ir::Order::canonical, 33, target_);
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->code, Code::columns_not_whole_blocks);
  EXPECT_FALSE(program_violation(program_, ir::Order::serial, 64, target_).has_value());
}

}  // namespace
}  // namespace lanefold::legality
