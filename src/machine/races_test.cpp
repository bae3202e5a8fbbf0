// Races in threadgroup memory: each planted one is found whatever the order in which SIMD groups run, and the same
// kernel with its barrier passes.
#include "machine/test_checks.h"

namespace lanefold::machine {
namespace {

const std::string kSlots = "buffer y: i32[$T] role output\nshared s: i32[$T]\n";
Expected at(const std::string& first, const std::string& second, std::vector<std::string> says = {}) {
  return {Code::machine_shared_race, {first, second}, std::move(says)};
}

TEST(MachineRaces, WriteThenReadByAnotherGroup) {
  expect_mended_by({.body = R"(
    shared_store s[%4] = %4
    barrier
    shared_store s[%4] = %0
    @%20 = bit_xor %4, %2
    %21 = shared_load s[%20]
    store y[%5] = %21
)",
                    .declarations = kSlots},
                   "barrier", at("k:17", "k:19", {" s[", "in lane ", "of SIMD group "}));
}

TEST(MachineRaces, ReadThenWriteByAnotherGroup) {
  expect_mended_by({.body = R"(
    shared_store s[%4] = %4
    barrier
    %20 = bit_xor %4, %2
    %21 = shared_load s[%20]
    store y[%5] = %21
    @shared_store s[%4] = %0
)",
                    .declarations = kSlots},
                   "barrier", at("k:18", "k:20", {" s[", "in lane ", "of SIMD group "}));
}

TEST(MachineRaces, WriteAndWriteByAnotherGroup) {
  // Each lane of every group writes the lane's slot, then only group 1 does.
  KernelText kernel{.body = R"(
    @shared_store s[%0] = %1
    @%21 = eq %1, %7
    if %21
    shared_store s[%0] = %0
    end
    barrier
    %22 = shared_load s[%0]
    store y[%5] = %22
)",
                    .declarations = kSlots};
  const std::string body = kernel.body;
  kernel.body = replaced(replaced(body, "@shared", "shared"), "@%21", "%21");
  expect_caught(kernel, at("k:15", "k:17.1", {" s[", "in lane ", "races with the shared_store"}));
  kernel.body = replaced(replaced(body, "@shared_store s[%0] = %1", ""), "@%21", "%21");
  expect_clean(kernel);
}

TEST(MachineRaces, OneStatementOfTwoLanes) {
  expect_caught({.body = R"(
    shared_store s[%6] = %6
    barrier
    %20 = shared_load s[%6]
    store y[%5] = %20
)",
                 .declarations = kSlots},
                at("k:15", "k:15", {" s[0]", "races with the shared_store at k:15"}));
  expect_clean({.body = R"(
    if %9
    shared_store s[%6] = %6
    end
    barrier
    %20 = shared_load s[%6]
    store y[%5] = %20
)",
                .declarations = kSlots});
}

TEST(MachineRaces, LanesOfOneGroupDoNotRunInStep) {
  for (const char* mend : {"simd_barrier", "barrier"})
    expect_mended_by({.body = R"(
    shared_store s[%0] = %0
    @%20 = bit_xor %0, %7
    %21 = shared_load s[%20]
    store y[%5] = %21
)",
                      .declarations = kSlots,
                      .groups = 1},
                     mend, at("k:17", "k:17", {" s[1]", "in lane 0 ", "k:15 in lane 1 ", "simd_barrier"}));
  expect_mended_by({.body = R"(
    shared_store s[%0] = %0
    simd_barrier
    %20 = bit_xor %0, %7
    %21 = shared_load s[%20]
    store y[%5] = %21
    @shared_store s[%0] = %6
)",
                    .declarations = kSlots,
                    .groups = 1},
                   "simd_barrier", at("k:20", "k:20", {" s[0]", "in lane 0 ", "k:18 in lane 1 "}));
}

TEST(MachineRaces, ASimdBarrierDoesNotOrderGroups) {
  expect_mended_by({.body = R"(
    shared_store s[%4] = %4
    barrier
    shared_store s[%4] = %0
    simd_barrier
    @%20 = bit_xor %4, %2
    %21 = shared_load s[%20]
    store y[%5] = %21
)",
                    .declarations = kSlots},
                   "barrier", at("k:17", "k:20"));
}

TEST(MachineRaces, OneLaneMayComeBack) {
  expect_clean({.body = R"(
    shared_store s[%4] = %4
    %20 = shared_load s[%4]
    shared_store s[%4] = %20
    %21 = shared_load s[%4]
    store y[%5] = %21
)",
                .declarations = kSlots});
}

TEST(MachineRaces, ManyMayReadWhatABarrierHasPublished) {
  expect_clean({.body = R"(
    if %9
    shared_store s[%6] = %2
    end
    barrier
    %20 = shared_load s[%6]
    %21 = shared_load s[%6]
    %22 = add %20, %21
    store y[%5] = %22
    barrier
    if %9
    shared_store s[%6] = %7
    end
)",
                .declarations = kSlots,
                .groups = 4});
}

TEST(MachineRaces, AReaderOfLongAgoIsNotForgotten) {
  // Group 0 reads first and others read after it; group 1 then writes. The reader that races is not the last one.
  expect_mended_by({.body = R"(
    if %9
    shared_store s[%6] = %2
    end
    barrier
    %20 = shared_load s[%6]
    store y[%5] = %20
    @%21 = mul %2, %7
    %22 = eq %4, %21
    if %22
    shared_store s[%6] = %7
    end
)",
                    .declarations = kSlots,
                    .groups = 4},
                   "barrier", at("k:17", "k:21.1", {" s[0]"}));
}

// mlx-lm 1700: the second fold writes the slots of the first while others may still read them.
const std::string kTwoFolds = R"(
    %20 = fold_lanes greater(%4) first_bit 0 bits $B
    if %8
    shared_store s[%1] = %20
    end
    barrier
    %21 = constant i64 0
    %22 = constant i64 $G
    %23 = constant i64 1
    set r[0] = %6
    for %24 = %21 to %22 step %23
    %25 = convert %24 to i32
    %26 = shared_load s[%25]
    %27 = get r[0]
    %28 = max %27, %26
    set r[0] = %28
    end
    @%30 = get r[0]
    %31 = sub %30, %4
    %32 = fold_lanes total(%31) first_bit 0 bits $B
    if %8
    shared_store s[%1] = %32
    end
    barrier
    set r[0] = %6
    for %33 = %21 to %22 step %23
    %34 = convert %33 to i32
    %35 = shared_load s[%34]
    %36 = get r[0]
    %37 = add %36, %35
    set r[0] = %37
    end
    %38 = get r[0]
    store y[%5] = %38
)";
const std::string kFoldFunctions =
    "function greater(%0: i32, %1: i32) -> i32\n%2 = max %0, %1\nreturn %2\n"
    "function total(%0: i32, %1: i32) -> i32\n%2 = add %0, %1\nreturn %2\n";
const std::string kFoldSlots = "buffer y: i32[$T] role output\nshared s: i32[$G]\nregister r: i32[1]\n";

TEST(MachineRaces, SecondFoldThroughTheSlotsOfTheFirst) {
  for (const std::uint32_t groups : {2u, 4u, 8u})
    expect_mended_by({.body = kTwoFolds, .declarations = kFoldSlots, .groups = groups, .functions = kFoldFunctions},
                     "barrier", at("k:22.2", "k:26.1", {" s[", "in lane "}));
}

TEST(MachineRaces, MaxThenSumWithBarriersGivesOneAnswer) {
  for (const std::uint32_t width : kWidths) {
    const KernelText kernel{.body = replaced(kTwoFolds, "@", "barrier\n"),
                            .declarations = kFoldSlots,
                            .groups = 4,
                            .functions = kFoldFunctions};
    Bench bench(whole_text(kernel, width));
    const auto threads = static_cast<std::int32_t>(4 * width);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      ASSERT_TRUE(bench.run(seed).findings.empty());
      // Σ (greatest − thread) over all threads
      for (std::int32_t i = 0; i < threads; ++i)
        ASSERT_EQ(bench.value<std::int32_t>("y", i), threads * (threads - 1) / 2) << width << ' ' << seed;
    }
  }
}

TEST(MachineRaces, AStatementThatRacesOftenIsNamedOnce) {
  const KernelText kernel{.body = R"(
    %20 = constant i64 10
    %21 = constant i64 1
    for %22 = %11 to %20 step %21
    shared_store s[%6] = %0
    end
    store y[%5] = %0
)",
                          .declarations = kSlots};
  expect_caught(kernel, at("k:17.1", "k:17.1", {" s[0]"}));
}

TEST(MachineRaces, WhatASideOfABranchDoesIsAskedToo) {
  // Lanes of one group in different sides of a branch: nothing orders the sides.
  expect_caught({.body = R"(
    if %8
    shared_store s[%6] = %0
    else
    shared_store s[%6] = %7
    end
    store y[%5] = %0
)",
                 .declarations = kSlots,
                 .groups = 1},
                {Code::machine_shared_race, {"k:15.else.1"}, {"in lane 1 ", "k:15.1 in lane 0"}});
}

}  // namespace
}  // namespace lanefold::machine
