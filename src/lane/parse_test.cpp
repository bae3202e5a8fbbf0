#include <gtest/gtest.h>

#include "lane/builder.h"
#include "lane/module.h"

namespace lanefold::lane {
namespace {

constexpr std::string_view kEverything = R"(module everything

function merge(%0: f32, %1: f32) -> f32
  %2 = add %0, %1
  return %2

function nothing()
  return

kernel first simd_width 4 simd_groups 2 rows_per_threadgroup 3
  buffer x: bf16 role input 1
  buffer y: i8 role output
  scalar cols: i64 role cols
  scalar eps: f32 role parameter 2
  buffer scratch: f32 role other
  shared partial: f32[8]
  register acc: f32[2]
  body
    %0 = constant i64 -9223372036854775808
    %1 = constant i32 -7
    %2 = constant f32 0x7fa00001
    %3 = constant f32 -0
    %4 = constant f32 1.1754944e-38
    %5 = constant f32 -inf
    %6 = constant bool true
    %7 = argument eps
    %8 = lane
    %9 = simd_group
    %10 = threadgroup
    # two lines
    #
    #  of comment
    %11..%14 = load x[%10] align 4 streaming
    %15 = fma %11, %12, %13
    %16 = select %6, %15, %7
    %17 = convert %8 to i64
    %18 = bitcast %16 to i32
    %19 = call merge(%11, %12)
    call nothing()
    set acc[1] = %19
    %20 = get acc[1]
    shared_store partial[%8] = %20
    %21 = shared_load partial[%9]
    %22 = shuffle_xor %21 by 2
    %23 = shuffle_down %22 by 1
    %24 = shuffle %23, %8
    %25 = permute2 %23, %24 table 0 5 2 7
    %26..%27 = fold_lanes merge(%11, %12, %13, %14) first_bit 0 bits 1
    barrier
    simd_barrier
    exchange partial = %21
    for %28 = %10 to %10 step %17
      # inside
      if %6
        store y[%28] = %1, %18 align 2
      else
        %29 = bit_not %6
      end
      if %6
      end
    end

kernel second simd_width 64 simd_groups 1 rows_per_threadgroup 1
  body
)";

TEST(LaneText, RoundTrips) {
  const Result<Module> module = parse(kEverything);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(print(*module), kEverything);
  const Kernel& kernel = module->kernels.at(0);
  EXPECT_EQ(kernel.arguments.at(0).role, Role::input);
  EXPECT_EQ(kernel.arguments.at(0).index, 1u);
  EXPECT_EQ(kernel.body.at(2).bits, 0x7fa00001u);
  EXPECT_EQ(kernel.body.at(3).bits, 0x80000000u);
  EXPECT_EQ(kernel.body.at(11).comment, "two lines\n\n of comment");
  EXPECT_EQ(kernel.body.at(11).count, 4u);
  EXPECT_TRUE(kernel.body.at(11).streaming);
}

TEST(LaneText, TakesBlanksAndComments) {
  const Result<Module> module = parse(
      "\n# about\nmodule m # name\r\n\n kernel  k simd_width 8\tsimd_groups 1 rows_per_threadgroup 1\n"
      "buffer b:f32\nbody\n%4=lane# which\n");
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(module->kernels[0].arguments[0].role, Role::other);
  EXPECT_EQ(module->kernels[0].body.at(0).result, 4u);
}

void expect_fault(const std::string& body, Code code, const std::string& place = "") {
  const std::string head =
      "module m\nfunction f(%0: f32) -> f32\nreturn %0\n"
      "kernel k simd_width 8 simd_groups 1 rows_per_threadgroup 1\nscalar n: i64\nbody\n";
  const Result<Module> module = parse(head + body, "t.lane");
  ASSERT_FALSE(module.ok()) << body;
  EXPECT_EQ(module.error().code, code) << module.error().text();
  if (!place.empty()) {
    EXPECT_EQ(module.error().place, place);
  }
}

TEST(LaneText, PointsAtFaults) {
  expect_fault("%0 = lane lane\n", Code::lane_syntax, "t.lane:7:11");
  expect_fault("%0 lane\n", Code::lane_syntax);
  expect_fault("end\n", Code::lane_syntax);
  expect_fault("for %0 = \n", Code::lane_syntax);
  expect_fault("%0 = constant f32 nan\n", Code::lane_syntax);
  expect_fault("%0 = constant i32 2147483648\n", Code::lane_syntax);
  expect_fault("%0 = constant bool 1\n", Code::lane_syntax);
  expect_fault("%99999999999 = lane\n", Code::lane_syntax);
  expect_fault("%3..%1 = lane\n", Code::lane_syntax);
  expect_fault("%0 = constant bool true\nif %0\nelse\nelse\nend\n", Code::lane_syntax, "t.lane:10:1");
  expect_fault("%0 = dance\n", Code::lane_unknown_word, "t.lane:7:11");
  expect_fault("%0 = constant f33 1\n", Code::lane_unknown_word);
  expect_fault("kernel l simd_width 8 simd_groups 1 rows_per_threadgroup 1\nscalar n: i64 role leader\n",
               Code::lane_unknown_word);
  expect_fault("%0 = argument m\n", Code::lane_unknown_name);
  expect_fault("%0 = neg %0\n", Code::lane_undefined_value);
  expect_fault("%0 = lane\n%0 = lane\n", Code::lane_result_numbering);
  expect_fault("%0..%1 = lane\n", Code::lane_result_numbering);
  expect_fault("lane\n", Code::lane_result_numbering);
  expect_fault("%0 = lane\n%1 = sqrt %0\n", Code::lane_type_mismatch);
  expect_fault("function g(%0: f32) -> i32\nreturn %0\n", Code::lane_type_mismatch);
  expect_fault("%1048576 = lane\n", Code::lane_too_large);
  std::string deep = "%0 = constant bool true\n";
  for (int i = 0; i < 100; ++i) deep += "if %0\n";
  expect_fault(deep, Code::lane_too_large);
  EXPECT_EQ(parse("").error().code, Code::lane_syntax);
  EXPECT_EQ(parse("module m\nfunction f(").error().code, Code::lane_syntax);
}

TEST(LaneText, PrintsFaultyModules) {
  Module module;
  module.name = "m";
  Kernel& k = module.kernels.emplace_back();
  k.name = "k";
  for (int op = 0; op <= static_cast<int>(Op::loop); ++op) {
    Statement& s = k.body.emplace_back();
    s.op = static_cast<Op>(op);
    s.a = s.b = s.result = 77;
  }
  const std::string text = print(module);
  EXPECT_NE(text.find("get ?77[77]"), std::string::npos);
  EXPECT_FALSE(parse(text).ok());
}

}  // namespace
}  // namespace lanefold::lane
