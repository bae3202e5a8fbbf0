#include "driver/cuda/remembered_call.h"

#include <gtest/gtest.h>

#include "driver/cuda/row_kernel.h"

namespace lanefold::driver {
namespace {

/// A call of one input, one output and two parameters, whose words are: x, y, rows, first parameter, second parameter.
class RememberedCallTest : public ::testing::Test {
 protected:
  runtime::Call call() { return {{&x_, 1}, {&y_, 1}, parameters_, 3, 4}; }
  void keep() {
    auto kernel = std::make_shared<CudaClassKernel>();
    kernel->parameter_words = {4, 3};
    runtime::LaunchShape shape;
    shape.grid[0] = 3;
    std::vector<lane::ArgumentWord> words(5);
    words[4].real = parameters_[0];
    words[3].real = parameters_[1];
    remembered_.keep(call(), std::move(kernel), shape, words);
  }

  std::byte memory_[2][64] = {};
  View x_{memory_[0], ElementType::f32, 3, 4, 4, 1};
  View y_{memory_[1], ElementType::f32, 3, 4, 4, 1};
  float parameters_[2] = {1, 2};
  RememberedCall remembered_;
};

TEST_F(RememberedCallTest, NothingFitsBeforeTheFirst) { EXPECT_FALSE(remembered_.fits(call())); }

TEST_F(RememberedCallTest, TheSameCallFitsWithOtherParameters) {
  keep();
  parameters_[0] = 7;
  parameters_[1] = 8;
  ASSERT_TRUE(remembered_.fits(call()));
  const CudaLaunch& launch = remembered_.with(call().parameters);
  EXPECT_EQ(launch.words[4].real, 7);
  EXPECT_EQ(launch.words[3].real, 8);
  EXPECT_EQ(launch.shape.grid[0], 3u);
}

TEST_F(RememberedCallTest, AnythingElseThatDiffersDoesNotFit) {
  keep();
  const View x = x_;
  const auto differs = [&](auto change) {
    change();
    EXPECT_FALSE(remembered_.fits(call()));
    x_ = x;
    EXPECT_TRUE(remembered_.fits(call()));
  };
  differs([&] { x_.data += 4; });
  differs([&] { x_.type = ElementType::bf16; });
  differs([&] { x_.rows = 2; });
  differs([&] { x_.cols = 5; });
  differs([&] { x_.row_stride = 0; });
  differs([&] { x_.column_stride = 2; });
  differs([&] { x_.packing = Packing::q8_0_codes; });
  runtime::Call other = call();
  other.rows = 2;
  EXPECT_FALSE(remembered_.fits(other));
  other = call();
  other.cols = 3;
  EXPECT_FALSE(remembered_.fits(other));
  other = call();
  other.parameters = other.parameters.first(1);
  EXPECT_FALSE(remembered_.fits(other));
  other = call();
  other.outputs = {};
  EXPECT_FALSE(remembered_.fits(other));
}

TEST_F(RememberedCallTest, OneThreadHoldsIt) {
  {
    const RememberedCall::Hold first(remembered_);
    EXPECT_TRUE(first);
    const RememberedCall::Hold second(remembered_);
    EXPECT_FALSE(second);
  }
  EXPECT_TRUE(RememberedCall::Hold(remembered_));
}

}  // namespace
}  // namespace lanefold::driver
