// Runs on symbols: what ends in memory is the expression that the kernel computes, and what cannot be one is said.
#include "machine/test_symbolic_run.h"

namespace lanefold::machine {
namespace {

using enum ElementType;

TEST_F(MachineSymbolicRun, SumAcrossLanesAndThreadgroupMemory) {
  const KernelText kernel{.body = R"(
    %20 = load x[%5]
    %21 = fold_lanes total(%20) first_bit 0 bits $B
    if %8
    shared_store slots[%1] = %21
    end
    barrier
    %22 = shared_load slots[%6]
    %23 = shared_load slots[%7]
    %24 = add %22, %23
    if %9
    store y[%11] = %24
    end
)",
                          .declarations =
                              "buffer x: f32[$T] role input\nbuffer y: f32[1] "
                              "role output\nshared slots: f32[$G]\n",
                          .functions = kTotal};
  for (const std::uint32_t width : kWidths)
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const std::vector<Diagnostic> findings = go(kernel, width, seed);
      ASSERT_TRUE(findings.empty()) << findings_text(findings);
      // Neighbours in pairs, in each group, and the groups as the last pair.
      std::vector<NodeId> level;
      for (std::int64_t e = 0; e < 2 * width; ++e) level.push_back(in(e));
      while (level.size() > 1) {
        for (std::size_t e = 0; e < level.size() / 2; ++e) level[e] = f(Op::add, {level[2 * e], level[2 * e + 1]});
        level.resize(level.size() / 2);
      }
      expect(stored("y", 0), level[0]);
      // Another tree is another expression.
      std::vector<NodeId> row;
      for (std::int64_t e = 0; e < 2 * width; ++e) row.push_back(in(e));
      EXPECT_NE(stored("y", 0), fold(Op::add, row));
    }
}

TEST_F(MachineSymbolicRun, ATransposingFoldHoldsOneSumInEachLane) {
  ASSERT_TRUE(go({.body = R"(
    %20 = load x[%5]
    %21 = mul %20, %20
    %22 = fold_lanes total(%20, %21) first_bit 0 bits $B
    store y[%5] = %22
)",
                  .declarations = kFloats,
                  .groups = 1,
                  .functions = kTotal})
                  .empty());
  const auto square = [&](std::int64_t e) { return f(Op::mul, {in(e), in(e)}); };
  const NodeId sum = f(Op::add, {f(Op::add, {in(0), in(1)}), f(Op::add, {in(2), in(3)})});
  const NodeId squares = f(Op::add, {f(Op::add, {square(0), square(1)}), f(Op::add, {square(2), square(3)})});
  for (std::int64_t lane = 0; lane < 4; ++lane) expect(stored("y", lane), lane % 2 == 0 ? sum : squares);
}

TEST_F(MachineSymbolicRun, ALoopSweepsInOrder) {
  ASSERT_TRUE(go({.body = R"(
    set r[0] = %12
    %20 = constant i64 3
    %21 = constant i64 1
    for %22 = %11 to %20 step %21
    %23 = load x[%22]
    %24 = get r[0]
    %25 = fma %23, %23, %24
    set r[0] = %25
    end
    %26 = get r[0]
    store y[%5] = %26
)",
                  .declarations = kFloats,
                  .groups = 1})
                  .empty());
  NodeId total = real(1);
  for (std::int64_t e = 0; e < 3; ++e) total = f(Op::fma, {in(e), in(e), total});
  for (std::int64_t lane = 0; lane < 4; ++lane) expect(stored("y", lane), total);
}

TEST_F(MachineSymbolicRun, ABranchOnDataIsASelect) {
  ASSERT_TRUE(go({.body = R"(
    %20 = load x[%5]
    %21 = gt %20, %12
    set r[0] = %20
    if %21
    %22 = mul %20, %20
    set r[0] = %22
    else
    %23 = get r[0]
    %24 = neg %23
    set r[0] = %24
    end
    %25 = get r[0]
    store y[%5] = %25
)",
                  .declarations = kFloats})
                  .empty());
  for (std::int64_t e = 0; e < 8; ++e)
    expect(stored("y", e),
           f(Op::select, {f(Op::gt, {in(e), real(1)}), f(Op::mul, {in(e), in(e)}), f(Op::neg, {in(e)})}));
}

TEST_F(MachineSymbolicRun, ASideThatSetsNothingKeepsWhatWasThere) {
  ASSERT_TRUE(go({.body = R"(
    %20 = load x[%5]
    %21 = gt %20, %12
    set r[0] = %20
    set r[1] = %20
    if %21
    set r[0] = %12
    end
    %25 = get r[0]
    store y[%5] = %25
    %26 = get r[1]
    store z[%5] = %26
)",
                  .declarations = "buffer x: f32[$T] role input\nbuffer y: f32[$T] "
                                  "role output\nbuffer z: f32[$T] role output 1\n"
                                  "register r: f32[2]\n"})
                  .empty());
  for (std::int64_t e = 0; e < 8; ++e) {
    expect(stored("y", e), f(Op::select, {f(Op::gt, {in(e), real(1)}), real(1), in(e)}));
    expect(stored("z", e), in(e));
  }
}

TEST_F(MachineSymbolicRun, BranchesOnDataNest) {
  ASSERT_TRUE(go({.body = R"(
    %20 = load x[%5]
    %21 = load x[%11]
    %22 = gt %20, %21
    %23 = lt %20, %12
    set r[0] = %20
    if %22
      if %8
        set r[0] = %21
      else
        if %23
          set r[0] = %12
        end
      end
    end
    %25 = get r[0]
    store y[%5] = %25
)",
                  .declarations = kFloats,
                  .groups = 1})
                  .empty());
  for (std::int64_t e = 1; e < 4; ++e)
    expect(stored("y", e), f(Op::select, {f(Op::gt, {in(e), in(0)}),
                                          f(Op::select, {f(Op::lt, {in(e), real(1)}), real(1), in(e)}), in(e)}));
  expect(stored("y", 0), in(0));  // what both sides leave
}

TEST_F(MachineSymbolicRun, AKnownConditionIsFollowed) {
  // The comparison of two constants is no data, and neither is one with the lane or with a size.
  ASSERT_TRUE(go({.body = R"(
    %20 = argument n
    %21 = lt %5, %20
    if %21
    %22 = load x[%5]
    store y[%5] = %22
    else
    store y[%5] = %12
    end
)",
                  .declarations = "buffer x: f32[3] role input\nbuffer y: f32[$T] role "
                                  "output\nscalar n: i64 role cols\n"})
                  .empty());
  for (std::int64_t e = 0; e < 8; ++e) expect(stored("y", e), e < 3 ? in(e) : real(1));
}

TEST_F(MachineSymbolicRun, ParametersAreNamedByNumber) {
  ASSERT_TRUE(go({.body = "%20 = argument eps\n%21 = load x[%5]\n%22 = add "
                          "%21, %20\nstore y[%5] = %22\n",
                  .declarations = kFloats + "scalar eps: f32 role parameter\n"})
                  .empty());
  expect(stored("y", 2), f(Op::add, {in(2), s.argument(parameter_symbol(0), f32)}));
}

TEST_F(MachineSymbolicRun, EffectsInABranchOnDataAreRefused) {
  const std::string open = "%20 = load x[%5]\n%21 = gt %20, %12\nif %21\n";
  const std::string declared = kFloats + "shared s: f32[$T]\n";
  const std::pair<const char*, const char*> effects[] = {
      {"store y[%5] = %12", "store"},
      {"shared_store s[%4] = %12", "shared_store"},
      {"barrier", "barrier"},
      {"simd_barrier", "simd_barrier"},
      {"%22 = shuffle_xor %20 by 1", "shuffle_xor"},
      {"%22 = fold_lanes total(%20) first_bit 0 bits $B", "fold_lanes"}};
  for (const auto& [effect, name] : effects) {
    const std::string says = std::string(name) + " stands in a branch whose condition depends on data";
    expect_refused({.body = open + effect + "\nend\n", .declarations = declared, .groups = 1, .functions = kTotal},
                   "k:17.1", says);
    expect_refused(
        {.body = open + "else\n" + effect + "\nend\n", .declarations = declared, .groups = 1, .functions = kTotal},
        "k:17.else.1", says);
  }
  // Behind the branch all is well again.
  EXPECT_TRUE(go({.body = open + "end\nstore y[%5] = %20\n", .declarations = declared}).empty());
}

TEST_F(MachineSymbolicRun, AddressesTripCountsAndLanesFromDataAreRefused) {
  const std::string data =
      "buffer x: i32[$T] role input\nbuffer y: i32[$T] "
      "role output\nshared s: i32[4]\n";
  const std::string load = "%20 = load x[%5]\n%21 = convert %20 to i64\n";
  const std::pair<const char*, const char*> uses[] = {
      {"%22 = load x[%21]", "the address %21 of a load"},
      {"store y[%21] = %20", "the address %21 of a store"},
      {"%22 = shared_load s[%20]", "the index %20 of a shared_load"},
      {"shared_store s[%20] = %0", "the index %20 of a shared_store"},
      {"%22 = shuffle %0, %20", "the lane index %20 of a shuffle"},
      {"for %22 = %11 to %21 step %21\nend", "the loop bound %21 of a loop"},
  };
  for (const auto& [use, says] : uses)
    expect_refused({.body = load + use + "\n", .declarations = data, .groups = 1}, "k:17", says);
  expect_refused({.body = "%20 = load x[%5]\n%21 = peer_load s[%6] of %20\n", .declarations = data, .groups = 1},
                 "k:16", "the rank %20 of a peer_load");
}

TEST_F(MachineSymbolicRun, PoisonStaysPoison) {
  const std::string open = "%20 = load x[%5]\n%21 = gt %20, %12\n";
  // Set on one side of a branch on data: on the other side nobody has written it.
  for (const std::string& body :
       {std::string("if %21\nset r[0] = %12\nend\n"), std::string("if %21\nelse\nset r[0] = %12\nend\n")}) {
    const auto findings = go({.body = open + body + "%22 = get r[0]\nstore y[%5] = %22\n", .declarations = kFloats});
    ASSERT_EQ(findings.size(), 1u) << findings_text(findings);
    EXPECT_EQ(findings[0].code, Code::machine_poison_stored);
    EXPECT_EQ(findings[0].place, "k:19");
  }
  const auto sums =
      go({.body = open + "%22 = get r[0]\n%23 = add %22, %20\nstore y[%5] = %23\n", .declarations = kFloats});
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].code, Code::machine_poison_stored);
  // Both sides set it: all is known of it.
  EXPECT_TRUE(go({.body = open + "if %21\nset r[0] = %12\nelse\nset r[0] = "
                                 "%20\nend\n%22 = get r[0]\nstore y[%5] = %22\n",
                  .declarations = kFloats})
                  .empty());
}

TEST_F(MachineSymbolicRun, AConditionThatSomeLanesNeverWrote) {
  // In lane 0 the condition is an expression, in the others nobody has written it.
  const auto findings = go({.body = R"(
    %20 = load x[%5]
    if %8
    %21 = gt %20, %12
    set b[0] = %21
    end
    set r[0] = %12
    %22 = get b[0]
    if %22
    set r[0] = %20
    end
    %23 = get r[0]
    store y[%5] = %23
)",
                            .declarations = kFloats + "register b: bool[1]\n",
                            .groups = 1});
  ASSERT_EQ(findings.size(), 1u) << findings_text(findings);
  EXPECT_EQ(findings[0].code, Code::machine_poison_used);
  EXPECT_EQ(findings[0].place, "k:19");
  EXPECT_NE(findings[0].message.find("is unwritten in lane 1"), std::string::npos) << findings[0].text();
}

}  // namespace
}  // namespace lanefold::machine
