#include "driver/processor.h"

#include <gtest/gtest.h>

namespace lanefold::driver {
namespace {

TEST(ModelName, FirstOfManyProcessors) {
  EXPECT_EQ(model_name("processor\t: 0\nmodel\t\t: 143\nmodel name\t: A (R) Chip @ 2: x \nflags : a\n"
                       "processor\t: 1\nmodel name\t: Other\n"),
            "A (R) Chip @ 2: x");
  EXPECT_EQ(model_name("model name\t: last line"), "last line");
}

TEST(ModelName, NoneWhereTheSystemNamesNone) {
  EXPECT_EQ(model_name(""), "");
  EXPECT_EQ(model_name("processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd40\n"), "");
  EXPECT_EQ(model_name("model name\nmodel name\t:  \n"), "");
}

TEST(ProcessorName, IsTold) { EXPECT_NE(processor_name(), ""); }

}  // namespace
}  // namespace lanefold::driver
