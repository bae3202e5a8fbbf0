// Barriers and SIMD-group operations that not all lanes reach, and lanes that read lanes which are not there.
#include <vector>

#include "machine/test_checks.h"
#include "machine/test_machine.h"

namespace lanefold::machine {
namespace {

TEST(MachineDivergence, EarlyReturnBeforeABarrier) {
  // executorch 22325: lanes past the end of the row return; the rest wait for them.
  const std::string row = "buffer y: i32[$T] role output\nshared s: i32[$T]\n";
  expect_caught({.body = R"(
    %20 = constant i32 $H
    %21 = lt %4, %20
    store y[%5] = %0
    if %21
    else
    shared_store s[%4] = %0
    barrier
    end
)",
                 .declarations = row,
                 .groups = 1},
                {Code::machine_divergent_barrier, {"k:18.else.2"}, {"barrier with $H of $W lanes", "SIMD group 0"}});
  expect_clean({.body = R"(
    %20 = constant i32 $H
    %21 = lt %4, %20
    store y[%5] = %0
    if %21
    else
    shared_store s[%4] = %0
    end
    barrier
)",
                .declarations = row,
                .groups = 1});
}

TEST(MachineDivergence, BarrierInALaneBranch) {
  for (const char* barrier : {"barrier", "cluster_barrier"})
    expect_caught({.body = "store y[%5] = %0\nif %8\n" + std::string(barrier) + "\nend\n"},
                  {Code::machine_divergent_barrier, {"k:16.1"}, {std::string(barrier) + " with 1 of $W lanes"}});
  // Both sides have one, and still no lane waits for the lanes of the other side.
  expect_caught({.body = "store y[%5] = %0\nif %8\nbarrier\nelse\nbarrier\nend\n"},
                {Code::machine_divergent_barrier, {"k:16.1"}});
  expect_clean({.body = "store y[%5] = %0\nif %8\nend\nbarrier\n"});
}

TEST(MachineDivergence, GroupsMeetAtDifferentBarriers) {
  expect_caught({.body = "store y[%5] = %0\n%20 = eq %1, %6\nif "
                         "%20\nbarrier\nelse\nbarrier\nend\n"},
                {Code::machine_barrier_mismatch, {"k:17.1"}, {"SIMD group 1 waits at k:17.else.1"}});
  expect_clean({.body = "store y[%5] = %0\n%20 = eq %2, %6\nif "
                        "%20\nbarrier\nelse\nbarrier\nend\n"});
}

TEST(MachineDivergence, AGroupEndsWhileOthersWait) {
  expect_caught({.body = "store y[%5] = %0\n%20 = eq %1, %6\nif %20\nbarrier\nend\n"},
                {Code::machine_barrier_mismatch, {"k:17.1"}, {"SIMD group 1 has ended"}});
  expect_caught({.body = "store y[%5] = %0\n%20 = eq %1, %7\nif %20\nbarrier\nend\n"},
                {Code::machine_barrier_mismatch, {"k:17.1"}, {"SIMD group 0 has ended"}});
}

TEST(MachineDivergence, GroupsPassABarrierDifferentlyOften) {
  const std::string loop = R"(
    store y[%5] = %0
    %20 = constant i64 1
    %21 = convert %1 to i64
    %22 = add %$N, %20
    for %23 = %11 to %22 step %20
    barrier
    end
)";
  expect_caught({.body = replaced(loop, "$N", "21")},
                {Code::machine_barrier_mismatch, {"k:19.1"}, {"SIMD group 0 has ended"}});
  expect_clean({.body = replaced(loop, "$N", "10")});  // the threadgroup's index is the same for all
}

TEST(MachineDivergence, SimdOperationWithoutAllLanes) {
  const std::string sum = "function total(%0: i32, %1: i32) -> i32\n%2 = add %0, %1\nreturn %2\n";
  const char* operations[] = {"%21 = shuffle_xor %0 by 0", "%21 = shuffle_down %0 by 0", "%21 = shuffle %0, %0",
                              "%21 = fold_lanes total(%0) first_bit 0 bits $B", "simd_barrier"};
  for (const char* operation : operations) {
    const std::string text(operation);
    const std::string name = text[0] == '%' ? text.substr(6, text.find(' ', 6) - 6) : text;
    SCOPED_TRACE(text);
    expect_caught({.body = "store y[%5] = %0\n%20 = lt %0, %7\nif %20\n" + text + "\nend\n", .functions = sum},
                  {Code::machine_divergent_simd, {"k:17.1"}, {name + " with 1 of $W lanes", "SIMD group "}});
    // A branch that all lanes of a group take together is none for it.
    expect_clean({.body = "store y[%5] = %0\n%20 = lt %1, %7\nif %20\n" + text + "\nend\n", .functions = sum});
  }
}

TEST(MachineDivergence, ReadOfAnInactiveLane) {
  const std::string half = "store y[%5] = %0\n%20 = constant i32 $H\n%21 = lt %0, %20\n";
  expect_caught({.body = half + "if %21\n%22 = shuffle_xor %0 by $H\nend\n"},
                {Code::machine_inactive_lane, {"k:18.1"}, {"shuffle_xor: lane 0 reads lane $H,"}});
  expect_caught({.body = half + "if %21\n%22 = shuffle_down %0 by $H\nend\n"},
                {Code::machine_inactive_lane, {"k:18.1"}, {"shuffle_down: lane 0 reads lane $H,"}});
  expect_caught({.body = half + "%22 = add %0, %20\nif %21\n%23 = shuffle %0, %22\nend\n"},
                {Code::machine_inactive_lane, {"k:19.1"}, {"shuffle: lane 0 reads lane $H,"}});
  // Broadcast of lane 0 where lane 0 is not.
  expect_caught({.body = half + "if %21\nelse\n%22 = shuffle %0, %6\nend\n"},
                {Code::machine_inactive_lane, {"k:18.else.1"}, {"shuffle: lane $H reads lane 0,"}});
  expect_clean({.body = half + "%22 = shuffle_xor %0 by $H\nif %21\nend\n%23 = shuffle %0, %6\n"});
}

TEST(MachineDivergence, PermutesTakeAllLanesToo) {
  KernelText kernel{.body =
                        "store y[%5] = %0\nif %8\n%20 = permute2 %0, %0 "
                        "table 0 5 2 7\nend\n"};
  const auto findings = Bench(whole_text(kernel, 4)).run().findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, Code::machine_divergent_simd);
  EXPECT_EQ(findings[0].place, "k:16.1");
  kernel.body = replaced(kernel.body, "table 0 5", "table 6 5");
  const auto inactive = Bench(whole_text(kernel, 4)).run().findings;
  ASSERT_EQ(inactive.size(), 1u);
  EXPECT_EQ(inactive[0].code, Code::machine_inactive_lane);
  EXPECT_NE(inactive[0].message.find("lane 0 reads lane 2"), std::string::npos) << inactive[0].text();
}

TEST(MachineDivergence, ALoopBoundOfEachLane) {
  expect_caught({.body = "store y[%5] = %0\n%20 = constant i64 1\nfor %21 = "
                         "%11 to %13 step %20\nend\n"},
                {Code::machine_bad_loop, {"k:17"}, {"%13 is 0 in one lane and 1 in lane 1"}});
}

TEST(MachineDivergence, GroupsMeetInTheSameIteration) {
  const auto module = lane::parse(R"(module m
kernel k simd_width 4 simd_groups 2 threadgroups 1
  buffer y: f32[8] role output
  body
    %0 = lane
    %1 = simd_group
    %2 = constant i64 0
    %3 = constant i64 1
    %4 = constant i64 2
    %5 = convert %1 to i64
    # group g waits twice in outer iteration g and once in the other: three times in all, as the other group does
    for %6 = %2 to %4 step %3
      %7 = eq %6, %5
      %8 = select %7, %4, %3
      for %9 = %2 to %8 step %3
        barrier
      end
    end
)");
  ASSERT_TRUE(module.ok()) << module.error().text();
  std::vector<float> y(8);
  const lane::ArgumentWord words[] = {{.pointer = y.data()}};
  const Status status = run_plain(*module, module->kernels[0], words, {8});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::machine_barrier_mismatch) << status.error().text();
  EXPECT_NE(status.error().message.find("iterations"), std::string::npos);
}

}  // namespace
}  // namespace lanefold::machine
