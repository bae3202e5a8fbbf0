#include "runtime/cuda/resource_usage.h"

#include <gtest/gtest.h>

namespace lanefold::runtime {
namespace {

TEST(ResourceUsageTest, IsReadFromTheAssemblersReport) {
  const auto usage = parse_resource_usage(
      "k.cu(3): warning #177-D: variable \"r\" was declared but never referenced\n"
      "\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'big' for 'sm_90'\n"
      "ptxas info    : Function properties for big\n"
      "ptxas         .     336 bytes stack frame, 644 bytes spill stores, 656 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 336 bytes cumulative stack size, 256 bytes smem\n"
      "ptxas info    : Compile time = 49.271 ms\n"
      "ptxas info    : Compiling entry function 'scale' for 'sm_90'\n"
      "ptxas info    : Function properties for scale\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers, 372 bytes cmem[0]\n");
  ASSERT_EQ(usage.size(), 2u);
  EXPECT_EQ(usage[0], (ResourceUsage{.kernel = "big",
                                     .registers = 32,
                                     .spill_store_bytes = 644,
                                     .spill_load_bytes = 656,
                                     .stack_bytes = 336,
                                     .shared_bytes = 256,
                                     .barriers = 1}));
  EXPECT_EQ(usage[1], (ResourceUsage{.kernel = "scale", .registers = 8}));
}

TEST(ResourceUsageTest, PropertiesOfCalledFunctionsAreNotTheKernels) {
  const auto usage = parse_resource_usage(
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Function properties for helper\n"
      "    99 bytes stack frame, 99 bytes spill stores, 99 bytes spill loads\n"
      "ptxas info    : Used 128 registers, used 16 barriers\n");
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0], (ResourceUsage{.kernel = "k",
                                     .registers = 128,
                                     .spill_store_bytes = 4,
                                     .spill_load_bytes = 8,
                                     .stack_bytes = 16,
                                     .barriers = 16}));
}

TEST(ResourceUsageTest, ALogWithoutAReportHasNone) {
  EXPECT_TRUE(parse_resource_usage("").empty());
  EXPECT_TRUE(parse_resource_usage("Used 3 registers\n'").empty());
  EXPECT_TRUE(parse_resource_usage("Compiling entry function 'k").empty()) << "cut in the middle";
}

}  // namespace
}  // namespace lanefold::runtime
