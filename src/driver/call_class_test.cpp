#include "driver/call_class.h"

#include <array>

#include <gtest/gtest.h>

namespace lanefold::driver {
namespace {

CallClass of(std::int64_t rows, std::int64_t cols, ir::Order order = ir::Order::canonical) {
  return call_class(order, rows, cols);
}

TEST(CallClassTest, RowsGoInStepsOfFourTimesAsMany) {
  for (const auto& [rows, least, most] :
       {std::array<std::int64_t, 3>{1, 1, 3}, {3, 1, 3}, {4, 4, 15}, {15, 4, 15}, {16, 16, 63}, {4096, 4096, 16383}}) {
    EXPECT_EQ(of(rows, 100).least_rows, least) << rows;
    EXPECT_EQ(of(rows, 100).most_rows, most) << rows;
  }
  EXPECT_EQ(of(0, 100).most_rows, 0);
  EXPECT_GE(of(std::int64_t{1} << 62, 100).most_rows, std::int64_t{1} << 62);
}

TEST(CallClassTest, ColumnsThatHaveAsManyChunksBelongTogether) {
  // V is 1024 for 2049 to 4096 columns.
  EXPECT_EQ(of(1, 4096), of(1, 3073));
  EXPECT_EQ(of(1, 4096).least_cols, 3073);
  EXPECT_EQ(of(1, 4096).most_cols, 4096);
  EXPECT_EQ(of(1, 3072).most_cols, 3072);
  EXPECT_EQ(of(1, 1).least_cols, 1);
  EXPECT_EQ(of(1, 1).most_cols, 32);
}

TEST(CallClassTest, WholeSegmentsAreAClassOfTheirOwn) {
  EXPECT_EQ(of(1, 65536).least_cols, 65536);
  EXPECT_EQ(of(1, 65536).most_cols, 65536);
  EXPECT_EQ(of(1, 65535), of(1, 32769));
  EXPECT_EQ(of(1, 65535).most_cols, 65535);
}

TEST(CallClassTest, OtherOrdersHaveNoChunks) {
  EXPECT_EQ(of(1, 4096, ir::Order::free), of(1, 2049, ir::Order::free));
  EXPECT_EQ(of(1, 2048, ir::Order::free).most_cols, 2048);
  EXPECT_EQ(of(1, 1, ir::Order::free).least_cols, 1);
  EXPECT_EQ(of(1, 7, ir::Order::serial), of(1, 70000, ir::Order::serial));
}

TEST(CallClassTest, EveryWidthLiesInItsClass) {
  for (const ir::Order order : {ir::Order::canonical, ir::Order::free, ir::Order::serial})
    for (std::int64_t cols = 1; cols < 300000; cols += 1 + cols / 37) {
      const CallClass made = of(1, cols, order);
      EXPECT_LE(made.least_cols, cols);
      EXPECT_GE(made.most_cols, cols);
      EXPECT_EQ(of(1, made.least_cols, order), made) << cols;
      EXPECT_EQ(of(1, made.most_cols, order), made) << cols;
    }
}

}  // namespace
}  // namespace lanefold::driver
