// Runs on symbols: checks, narrow elements and views of one memory, and functions that are known by their name.
#include "machine/test_symbolic_run.h"

namespace lanefold::machine {
namespace {

using enum ElementType;

TEST_F(MachineSymbolicRun, ChecksAreMadeOnSymbolsToo) {
  const auto race = go({.body = "%20 = load x[%5]\nshared_store s[%6] = %20\nstore y[%5] = %20\n",
                        .declarations = kFloats + "shared s: f32[1]\n"});
  ASSERT_FALSE(race.empty());
  EXPECT_EQ(race[0].code, Code::machine_shared_race);
  const auto beyond =
      go({.body = "%20 = constant i64 8\n%21 = load x[%20]\nstore y[%5] = %12\n", .declarations = kFloats});
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_EQ(beyond[0].code, Code::machine_out_of_bounds);
}

TEST_F(MachineSymbolicRun, NarrowElementsInOneMemory) {
  // Blocks of 6 bytes: an f16 scale, then four i8 codes, one block for each lane.
  const auto findings = go({.body = R"(
    %20 = constant i64 3
    %21 = mul %13, %20
    %22 = load scale[%21]
    %23 = constant i64 6
    %24 = mul %13, %23
    %25 = constant i64 2
    %26 = add %24, %25
    %27..%30 = load w[%26]
    %31 = convert %29 to f32
    %32 = mul %22, %31
    store y[%13] = %32
)",
                            .declarations = "buffer w: i8[6, $W] role input\nbuffer scale: "
                                            "f16[3, $W] of w role input\n"
                                            "buffer y: f32[$W] role output\n",
                            .groups = 1});
  ASSERT_TRUE(findings.empty()) << findings_text(findings);
  for (std::int64_t lane = 0; lane < 4; ++lane) {
    const NodeId scale = s.widen(f16, s.input("w", 6 * lane, 2));
    const NodeId code = s.widen(i8, s.input("w", 6 * lane + 2 + 2, 1));
    expect(stored("y", lane), f(Op::mul, {scale, s.convert(i32, f32, code)}));
  }
}

TEST_F(MachineSymbolicRun, BytesOfAWordAreTakenApartAndJoined) {
  // Each lane moves a word of x to y byte by byte, through views of both; then the last byte is another one's.
  const auto findings = go({.body = R"(
    %20 = constant i64 4
    %21 = mul %13, %20
    %22..%25 = load xb[%21]
    store yb[%21] = %22, %23, %24, %25
    %26..%29 = load xb[%11]
    store zb[%21] = %22, %23, %24, %29
)",
                            .declarations = "buffer x: f32[$W] role input\nbuffer xb: i8[4, $W] "
                                            "of x role input\n"
                                            "buffer y: f32[$W] role output\nbuffer yb: i8[4, $W] "
                                            "of y role output\n"
                                            "buffer z: f32[$W] role output 1\nbuffer zb: i8[4, "
                                            "$W] of z role output\n",
                            .groups = 1});
  ASSERT_TRUE(findings.empty()) << findings_text(findings);
  for (std::int64_t lane = 0; lane < 4; ++lane) {
    expect(stored("y", lane), in(lane));
    EXPECT_EQ(stored("z", lane) == in(lane), lane == 0);
    expect(stored("z", 4 * lane + 3, 1), s.input("x", 3, 1));
    expect(stored("z", 4 * lane + 1, 1), s.input("x", 4 * lane + 1, 1));
  }
}

TEST_F(MachineSymbolicRun, ANarrowStoreRoundsForTheNextKernel) {
  const std::string first = whole_text({.body = "%20 = load x[%5]\nstore h[%5] = %20\n",
                                        .declarations = "buffer x: f32[8] role input\nbuffer h: bf16[8] role output\n"},
                                       4);
  const std::string second =
      "kernel l simd_width 8 simd_groups 1 threadgroups 1\nbuffer h: bf16[8] "
      "role input\nbuffer y: f32[8] role output 1\nbody\n"
      "%0 = lane\n%1 = convert %0 to i64\n%2 = load h[%1]\nstore y[%1] = %2\n";
  ASSERT_TRUE(go_text(first + second).empty());
  for (std::int64_t e = 0; e < 8; ++e) {
    expect(stored("h", e, 2), s.narrow(bf16, in(e)));
    expect(stored("y", e), s.widen(bf16, s.narrow(bf16, in(e))));
    EXPECT_NE(stored("y", e), in(e));
  }
}

TEST_F(MachineSymbolicRun, ThreadgroupArraysHoldTheirOwnType) {
  const auto through = [&](const std::string& type) {
    const auto findings = go({.body = "%20 = load x[%5]\nshared_store s[%4] = %20\n%21 = "
                                      "shared_load s[%4]\nstore y[%5] = %21\n",
                              .declarations = kFloats + "shared s: " + type + "[$T]\n"});
    EXPECT_TRUE(findings.empty()) << findings_text(findings);
    return stored("y", 5);
  };
  expect(through("f32"), in(5));
  expect(through("f16"), s.widen(f16, s.narrow(f16, in(5))));
}

TEST_F(MachineSymbolicRun, HelpersAreTheirNamesOnData) {
  const std::string functions =
      "function twice(%0: f32) -> f32\n%1 = add %0, %0\nreturn %1\nfunction "
      "exp_nonpositive(%0: f32) -> f32\nreturn %0\n";
  const std::string body = R"(
    %20 = load x[%5]
    %21 = load x[%11]
    %22 = max %20, %21
    %23 = sub %20, %22
    %24 = call twice(%20)
    %25 = call twice(%12)
    %26 = call exp_nonpositive(%23)
    %27 = call exp_nonpositive(%20)
    store y[%13] = %24
    store z[%13] = %25
    store u[%13] = %26
    store v[%13] = %27
)";
  std::string declarations = "buffer x: f32[$T] role input\n";
  for (const char* name : {"y", "z", "u", "v"})
    declarations += "buffer " + std::string(name) + ": f32[$T] role output\n";
  const std::string text =
      whole_text({.body = body, .declarations = declarations, .groups = 1, .functions = functions}, 4);
  const std::vector<Helper> helpers = {{Helper::Kind::named, "twice"}, {Helper::Kind::named, "exp_nonpositive"}};
  ASSERT_TRUE(go_text(text, 0, helpers).empty());
  const NodeId x1 = in(1), two = real(2);
  expect(stored("y", 1), s.call("twice", std::array{x1}, 0, f32));
  expect(stored("z", 1), two);  // of what is known, the body is computed
  const NodeId difference = f(Op::sub, {x1, f(Op::max, {x1, in(0)})});
  expect(stored("u", 1), s.call("exp", std::array{difference}, 0,
                                f32));  // ≤ 0 or NaN, where it is exp
  expect(stored("v", 1), s.call("exp_nonpositive", std::array{x1}, 0, f32));
  ASSERT_TRUE(go_text(text).empty());  // without helpers, all are looked into
  expect(stored("y", 1), f(Op::add, {x1, x1}));
  expect(stored("v", 1), x1);
}

TEST_F(MachineSymbolicRun, ArgMergesAreSets) {
  const std::string functions =
      "function keep(%0: f32, %1: i32, %2: f32, %3: i32) -> f32, i32\n%4 = ge "
      "%0, %2\n%5 = select %4, %0, %2\n"
      "%6 = select %4, %1, %3\nreturn %5, %6\n";
  const std::string body = R"(
    %20 = load x[%5]
    %21..%22 = fold_lanes keep(%20, %0) first_bit 0 bits $B
    if %9
    store y[%11] = %22
    end
)";
  const std::string text = whole_text({.body = body,
                                       .declarations = "buffer x: f32[$T] role input\nbuffer y: i32[1] role output\n",
                                       .groups = 1,
                                       .functions = functions},
                                      4);
  const std::vector<Helper> helpers = {{Helper::Kind::arg_merge, "argmax"}};
  ASSERT_TRUE(go_text(text, 0, helpers).empty());
  // In any order: here 3, 1, 0, 2.
  std::array<NodeId, 2> best = {in(3), integer(3)};
  for (const std::int32_t e : {1, 0, 2}) best = s.merge_arg("argmax", in(e), integer(e), best[0], best[1]);
  expect(stored("y", 0), best[1]);
}

}  // namespace
}  // namespace lanefold::machine
