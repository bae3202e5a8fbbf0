#include "lane/module.h"

#include <gtest/gtest.h>

namespace lanefold::lane {
namespace {

TEST(LaneModule, NamesOperations) {
  EXPECT_EQ(op_name(Op::fold_lanes), "fold_lanes");
  EXPECT_EQ(op_operands(Op::fma), 3);
  EXPECT_EQ(op_operands(Op::call), -1);
}

TEST(LaneModule, AlignsThreadgroupArrays) {
  Kernel kernel;
  kernel.shared = {{"a", ElementType::f32, 3}, {"b", ElementType::i64, 9}, {"c", ElementType::i8, 1}};
  EXPECT_EQ(shared_offset(kernel, 0), 0u);
  EXPECT_EQ(shared_offset(kernel, 1), 64u);
  EXPECT_EQ(shared_offset(kernel, 2), 192u);
  EXPECT_EQ(shared_bytes(kernel), 193u);
  EXPECT_THROW(shared_offset(kernel, 3), InternalError);
}

TEST(Module, LaunchCoversRowsAndColumns) {
  Kernel kernel;
  kernel.rows_per_threadgroup = 4;
  EXPECT_EQ(launch_threadgroups(kernel, 0, 7), 0);
  EXPECT_EQ(launch_threadgroups(kernel, 4, 7), 1);
  EXPECT_EQ(launch_threadgroups(kernel, 5, 7), 2);
  kernel.cols_per_threadgroup = 3;
  EXPECT_EQ(launch_threadgroups(kernel, 5, 7), 6);
  kernel.cluster = 4;
  EXPECT_EQ(launch_threadgroups(kernel, 5, 7), 8);
  kernel.cluster = 1;
  kernel.threadgroups = 11;
  EXPECT_EQ(launch_threadgroups(kernel, 5, 7), 11);
}

}  // namespace
}  // namespace lanefold::lane
