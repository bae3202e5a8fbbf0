// Which chains of argmax's steps, and which merges of lanes, CUDA writes in its own way.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "emit/cuda/cuda_source.h"
#include "emit/cuda/test_text.h"

namespace lanefold::emit {
namespace {

const std::string kStep =
    "\nfunction step_argmax(%0: f32, %1: i32, %2: f32, %3: i32) -> f32, i32\n  %4 = le %2, %0\n  %5 = eq %0, %0\n"
    "  %6 = bit_not %4\n  %7 = bit_and %6, %5\n  %8 = select %7, %2, %0\n  %9 = select %7, %3, %1\n  return %8, %9\n";
const std::string kLeast =
    "\nfunction step_argmin(%0: f32, %1: i32, %2: f32, %3: i32) -> f32, i32\n  %4 = ge %2, %0\n  %5 = eq %0, %0\n"
    "  %6 = bit_not %4\n  %7 = bit_and %6, %5\n  %8 = select %7, %2, %0\n  %9 = select %7, %3, %1\n  return %8, %9\n";
const std::string kMerge =
    "\nfunction merge_argmax(%0: f32, %1: i32, %2: f32, %3: i32) -> f32, i32\n  %4 = ne %0, %0\n  %5 = ne %2, %2\n"
    "  %6 = lt %3, %1\n  %7 = bit_and %5, %6\n  %8 = gt %2, %0\n  %9 = bit_or %5, %8\n  %10 = eq %2, %0\n"
    "  %11 = bit_and %10, %6\n  %12 = bit_or %9, %11\n  %13 = select %4, %7, %12\n  %14 = select %13, %2, %0\n"
    "  %15 = select %13, %3, %1\n  return %14, %15\n";

std::string emitted(const std::string& functions, const std::string& body) {
  auto module = lane::parse(
      "module m\n" + functions +
      "\nkernel k simd_width 32 simd_groups 2 rows_per_threadgroup 1\n  buffer h: bf16[rows, cols] role input\n"
      "  buffer y: f32[rows] role output\n  buffer p: i32[rows] role output 1\n  shared s: f32[16]\n"
      "  shared t: i32[16]\n  body\n" +
      body);
  EXPECT_TRUE(module.ok()) << module.error().text();
  const auto source = cuda_source(*module, {});
  EXPECT_TRUE(source.ok()) << source.error().text();
  return source.ok() ? source->text : "";
}

/// Four words of two columns, whose halves go to two chains; what stands where matters to some tests.
struct Chains {
  std::string function = "step_argmax";
  std::string last_low = "%7";     ///< the last element of the first chain
  std::string last_index = "%26";  ///< and its column
  bool is_guarded = false;         ///< the last step of each is chosen by a flag
  std::string more = {};           ///< further uses

  std::string body() const {
    std::string text =
        "    %0 = constant i64 0\n    %1..%8 = load h[%0] align 8\n    %9 = lane\n    %10 = convert %9 to i64\n";
    // The columns %20 … %27 are lane + 1 … lane + 8.
    for (int i = 0; i < 8; ++i)
      text += fmt::format("    %{0} = constant i64 {1}\n    %{2} = add %10, %{0}\n    %{3} = convert %{2} to i32\n",
                          60 + i, 1 + i, 70 + i, 20 + i);
    text += "    %30 = constant i32 7\n    %31 = lt %9, %30\n";
    text += fmt::format(
        "    %32..%33 = call {0}(%1, %20, %3, %22)\n    %34..%35 = call {0}(%2, %21, %4, %23)\n"
        "    %36..%37 = call {0}(%32, %33, %5, %24)\n    %38..%39 = call {0}(%34, %35, %6, %25)\n"
        "    %40..%41 = call {0}(%36, %37, {1}, {2})\n    %42..%43 = call {0}(%38, %39, %8, %27)\n",
        function, last_low, last_index);
    if (is_guarded)
      text +=
          "    %44 = select %31, %40, %36\n    %45 = select %31, %41, %37\n    %46 = select %31, %42, %38\n"
          "    %47 = select %31, %43, %39\n";
    return text + more +
           fmt::format(
               "    store y[%0] = %{0}\n    store y[%0] = %{2}\n    store p[%0] = %{1}\n"
               "    store p[%0] = %{3}\n",
               is_guarded ? 44 : 40, is_guarded ? 45 : 41, is_guarded ? 46 : 42, is_guarded ? 47 : 43);
  }
};

TEST(CudaArgmax, TwoChainsOverHalvesOfWordsAreOne) {
  const std::string text = emitted(kStep, Chains().body());
  expect_parts(
      text, {"max.NaN.bf16x2", "set.gt.u32.bf16x2", "void argmax_of_pairs(",
             "pairs[4] = {h_values.x, h_values.y, h_values.z, h_values.w};",
             "offsets[4] = {0x20001u, 0x40003u, 0x60005u, 0x80007u};", "argmax_of_pairs(pairs, offsets, leading, at);",
             "y[0] = bf16_low(leading);", "y[0] = bf16_high(leading);", "p[0] = wrap_add(lane, at & 0xffffu);",
             "p[0] = wrap_add(lane, at >> 16);"});
  // Nothing calls the step.
  expect_without(text, "step_argmax");
  expect_parts(emitted(kLeast, Chains{.function = "step_argmin"}.body()),
               {"min.NaN.bf16x2", "set.lt.u32.bf16x2", "argmin_of_pairs(pairs, offsets, leading, at);"});
}

TEST(CudaArgmax, AStepThatSomeLanesLeaveOutTakesInfinity) {
  const std::string text = emitted(kStep, Chains{.is_guarded = true}.body());
  expect_parts(text, {"const bool is_below = lane < 7;", "h_values.z, is_below ? h_values.w : 0xff80ff80u};",
                      "y[0] = bf16_low(leading);", "p[0] = wrap_add(lane, at & 0xffffu);"});
  expect_without(text, "step_argmax");
  expect_parts(emitted(kLeast, Chains{.function = "step_argmin", .is_guarded = true}.body()),
               {"is_below ? h_values.w : 0x7f807f80u}"});
}

TEST(CudaArgmax, TheChainEndsWhereAnElementIsNoHalf) {
  const std::string other = Chains{.last_low = "%50"}.body();
  const std::string text =
      emitted(kStep, "    %48 = constant i64 1\n    %49 = load h[%48]\n    %50 = mul %49, %49\n" + other);
  expect_parts(text, {"pairs[3] = {h_values.x, h_values.y, h_values.z};", "= step_argmax(", "= step_argmax("});
}

TEST(CudaArgmax, WhatIsUsedBetweenTheStepsIsKept) {
  // A state in the middle, a result that a flag leaves out, and the whole state where the flag is another.
  expect_without(emitted(kStep, Chains{.more = "    store y[%0] = %36\n"}.body()), "of_pairs");
  expect_without(emitted(kStep, Chains{.more = "    store p[%0] = %35\n"}.body()), "of_pairs");
  expect_without(emitted(kStep, Chains{.is_guarded = true, .more = "    store y[%0] = %42\n"}.body()), "of_pairs");
}

TEST(CudaArgmax, ColumnsStandWithinHalvesFromOneBase) {
  const std::string far =
      "    %48 = constant i64 65536\n    %51 = convert %9 to i64\n    %49 = add %51, %48\n"
      "    %50 = convert %49 to i32\n";
  Chains chains{.last_index = "%50"};
  std::string body = chains.body();
  body.insert(body.find("    %30 ="), far);
  expect_parts(emitted(kStep, body), {"pairs[3] =", "= step_argmax("});
}

TEST(CudaArgmax, AnotherFunctionOfThatNameIsCalled) {
  std::string other = kStep;
  other.replace(other.find("= le"), 4, "= lt");
  const std::string text = emitted(other, Chains().body());
  expect_without(text, "of_pairs");
  expect_parts(text, {"step_argmax_result step_argmax(float a0", "= step_argmax("});
}

TEST(CudaArgmax, AMergeOfAllLanesIsTwoReductions) {
  const auto merged = [](const std::string& functions, const char* bits, const char* name) {
    return emitted(functions, std::string("    %0 = constant i64 0\n    %1 = load h[%0]\n    %2 = lane\n    %3..%4 = "
                                          "fold_lanes ") +
                                  name + "(%1, %2) first_bit 0 bits " + bits +
                                  "\n    store y[%0] = %3\n    store p[%0] = %4\n");
  };
  const std::string text = merged(kMerge, "5", "merge_argmax");
  expect_parts(
      text, {"add.rn.f32", "void argmax_of_lanes(float& value, int& column)", "__reduce_max_sync", "__reduce_min_sync",
             "argmax_of_lanes(leading_value, leading_index);", "y[0] = leading_value;", "p[0] = leading_index;"});
  expect_without(text, "merge_argmax");
  expect_parts(merged(kMerge, "4", "merge_argmax"), {"= merge_argmax("});
  expect_without(merged(kMerge, "4", "merge_argmax"), "of_lanes");
  std::string other = kMerge;
  other.replace(other.find("= gt"), 4, "= ge");
  expect_without(merged(other, "5", "merge_argmax"), "of_lanes");
}

TEST(CudaArgmax, AMaximumOfAllLanesIsAReduction) {
  const auto merged = [](const char* op, const char* bits) {
    return emitted(fmt::format("\nfunction merge_{0}(%0: f32, %1: f32) -> f32\n  %2 = {0} %0, %1\n  return %2\n", op),
                   fmt::format("    %0 = constant i64 0\n    %1 = load h[%0]\n    %2 = fold_lanes merge_{}(%1) "
                               "first_bit 0 bits {}\n    store y[%0] = %2\n",
                               op, bits));
  };
  expect_parts(merged("max", "5"), {"float maximum_of_lanes(float value)", "0x7fffffff", "__reduce_max_sync",
                                    "const float max = maximum_of_lanes(", "y[0] = max;"});
  expect_parts(merged("min", "5"), {"minimum_of_lanes(float value)", "__reduce_min_sync", "= minimum_of_lanes("});
  expect_without(merged("max", "4"), "of_lanes");
}

TEST(CudaArgmax, LanesThatRepeatAnArrayAreMergedWhole) {
  const auto merged = [](int mask) {
    return emitted(kMerge, fmt::format("    %0 = lane\n    %1 = constant i32 {}\n    %2 = bit_and %0, %1\n"
                                       "    %3 = shared_load s[%2]\n    %4 = shared_load t[%2]\n"
                                       "    %5..%6 = fold_lanes merge_argmax(%3, %4) first_bit 0 bits 3\n"
                                       "    %7 = constant i64 0\n    store p[%7] = %6\n",
                                       mask));
  };
  expect_parts(merged(7), {"float leading_value = s[bits];", "int leading_index = t[bits];", "argmax_of_lanes("});
  expect_without(merged(15), "of_lanes");  // lanes 8 to 15 have others
  expect_without(merged(5), "of_lanes");
}

}  // namespace
}  // namespace lanefold::emit
