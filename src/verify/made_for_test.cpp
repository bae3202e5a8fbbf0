#include "verify/made_for.h"

#include <gtest/gtest.h>

namespace lanefold::verify {
namespace {

TEST(MadeFor, SaysWhatAKernelIsBuiltForAndReadsItAgain) {
  kernels::Build build;
  EXPECT_EQ(built_for(build), "");
  build.tokens = 8;
  build.weights = "q8_0";
  build.known.options = {{"soft_cap", 30}, {"scale", 0.125}};
  EXPECT_EQ(built_for(build), ", tokens 8, weights q8_0, option soft_cap=30, option scale=0.125");
  const auto again = build_of("2 rows of 64 columns" + built_for(build));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->tokens, 8u);
  EXPECT_EQ(again->weights, "q8_0");
  EXPECT_EQ(again->known.options, build.known.options);
  EXPECT_EQ(build_of("2 rows of 64 columns")->tokens, 1u);
  EXPECT_FALSE(build_of("2 rows of 64 columns, something else").has_value());
  EXPECT_FALSE(build_of("2 rows of 64 columns, option cap").has_value());
}

}  // namespace
}  // namespace lanefold::verify
