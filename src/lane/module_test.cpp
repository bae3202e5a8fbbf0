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

}  // namespace
}  // namespace lanefold::lane
