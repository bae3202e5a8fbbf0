#include "lane/uniform.h"

#include <gtest/gtest.h>

#include <string>

namespace lanefold::lane {
namespace {

std::vector<Variation> analyse(const std::string& body, int groups = 2) {
  const std::string text =
      "module m\nfunction f(%0: f32, %1: f32) -> f32\n%2 = add %0, %1\nreturn %2\n"
      "kernel k simd_width 8 simd_groups " +
      std::to_string(groups) +
      " rows_per_threadgroup 1\n"
      "buffer x: f32 role input\nbuffer y: f32 role output\nscalar n: i64 role cols\n"
      "shared s: f32[8]\nregister r: f32[4]\nbody\n" +
      body;
  const Result<Module> module = parse(text);
  EXPECT_TRUE(module.ok()) << module.error().text();
  return variations(*module, module->kernels[0]);
}

void expect_uniform(const Variation& v) { EXPECT_TRUE(v.uniform && v.affine && v.stride == 0); }
void expect_stride(const Variation& v, std::int64_t stride) {
  EXPECT_TRUE(v.affine && !v.uniform);
  EXPECT_EQ(v.stride, stride);
}
void expect_varying(const Variation& v) { EXPECT_TRUE(!v.affine && !v.uniform); }

TEST(LaneUniform, FollowsStrides) {
  const auto v = analyse(R"(
    %0 = lane
    %13 = constant i32 0
    %1 = add %0, %13
    %14 = argument n
    %2 = convert %14 to i32
    %3 = constant i32 3
    %15 = convert %1 to i64
    %16 = convert %2 to i64
    %4 = mul %1, %3
    %5 = sub %2, %4
    %6 = shift_left %5, %3
    %7 = add %1, %1
    %8 = sub %1, %1
    %9 = mul %1, %2
    %10 = neg %1
    %11 = min %1, %2
    %12 = lt %1, %2
  )");
  expect_stride(v[1], 1);
  expect_uniform(v[2]);
  expect_stride(v[4], 3);
  expect_stride(v[5], -3);
  expect_stride(v[6], -24);
  expect_stride(v[7], 2);
  EXPECT_TRUE(v[8].affine && v[8].stride == 0);
  expect_varying(v[9]);
  expect_stride(v[10], -1);
  expect_varying(v[11]);
  expect_varying(v[12]);
  expect_varying(v[15]);  // what has wrapped at 32 bits has no step in 64
  expect_uniform(v[16]);
}

TEST(LaneUniform, SimdGroupIsUniformOnlyWhereThereIsOne) {
  expect_stride(analyse("%0 = simd_group\n")[0], 0);
  expect_uniform(analyse("%0 = simd_group\n", 1)[0]);
}

TEST(LaneUniform, LoadsFromInputsOnly) {
  const auto v = analyse(R"(
    %0 = constant i64 5
    %1 = load x[%0]
    %2 = load y[%0]
    %3 = lane
    %4 = shared_load s[%3]
    %5 = constant i32 0
    %6 = shared_load s[%5]
    %7 = shuffle %4, %5
    %8 = shuffle %4, %3
    %9 = fold_lanes f(%4) first_bit 0 bits 3
    %10 = fold_lanes f(%4) first_bit 0 bits 2
    %11 = fold_lanes f(%4, %4) first_bit 0 bits 3
    %12 = fold_lanes f(%1) first_bit 0 bits 1
  )");
  expect_uniform(v[1]);
  expect_stride(v[2], 0);
  expect_varying(v[4]);
  expect_stride(v[6], 0);
  expect_stride(v[7], 0);
  expect_varying(v[8]);
  expect_stride(v[9], 0);
  expect_varying(v[10]);
  expect_varying(v[11]);
  expect_uniform(v[12]);
}

TEST(LaneUniform, AnInputThatIsWrittenIsNotUniform) {
  const auto v = analyse("%0 = constant i64 5\n%1 = load x[%0]\nstore x[%0] = %1\n");
  expect_stride(v[1], 0);
}

TEST(LaneUniform, RegistersReachAFixedPoint) {
  const auto v = analyse(R"(
    %0 = constant f32 1
    %1 = constant i64 0
    %2 = argument n
    %3 = constant i64 1
    %4 = lane
    %5 = constant i32 2
    %6 = lt %4, %5
    %7 = simd_group
    %8 = lt %7, %5
    set r[0] = %0
    set r[1] = %0
    set r[2] = %0
    set r[3] = %0
    for %9 = %1 to %2 step %3
      %10 = get r[0]
      %11 = get r[1]
      set r[0] = %11
      %12 = get r[3]
      if %6
        set r[2] = %0
      end
      if %8
        set r[3] = %0
      end
      %13 = convert %4 to f32
      %14 = add %11, %13
      set r[1] = %14
    end
    %15 = get r[2]
  )");
  expect_uniform(v[9]);
  expect_varying(v[10]);  // through r[1], one iteration later
  expect_varying(v[11]);
  expect_stride(v[12], 0);
  expect_varying(v[15]);
}

}  // namespace
}  // namespace lanefold::lane
