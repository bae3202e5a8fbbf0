// Reads of what nobody wrote: register arrays, threadgroup arrays, outputs, and the registers of inactive lanes.
#include "machine/test_checks.h"

namespace lanefold::machine {
namespace {

const std::string kRegister = "buffer y: i32[$T] role output\nregister r: i32[2]\n";

Expected stored(std::string place, std::vector<std::string> says) {
  return {Code::machine_poison_stored, {std::move(place)}, std::move(says)};
}

TEST(MachineUnwritten, RegisterArray) {
  expect_caught({.body = "set r[0] = %0\n%20 = get r[1]\nstore y[%5] = %20\n", .declarations = kRegister},
                stored("k:17", {"%20, unwritten in lane 0, is stored to y["}));
  expect_clean({.body = "set r[1] = %0\n%20 = get r[1]\nstore y[%5] = %20\n", .declarations = kRegister});
}

TEST(MachineUnwritten, RegisterOfOneLane) {
  expect_caught({.body = "%20 = constant i32 $H\n%21 = lt %0, %20\nif %21\nset "
                         "r[0] = %0\nend\n%22 = get r[0]\nstore y[%5] = %22\n",
                 .declarations = kRegister},
                stored("k:19", {"%22, unwritten in lane $H, is stored to y["}));
  expect_clean({.body = "%20 = constant i32 $H\n%21 = lt %0, %20\nif %21\nset "
                        "r[0] = %0\nelse\nset r[0] = %6\nend\n%22 = get r[0]\n"
                        "store y[%5] = %22\n",
                .declarations = kRegister});
}

TEST(MachineUnwritten, GoesThroughArithmeticAndCalls) {
  const std::string f =
      "function f(%0: i32, %1: i32) -> i32\n%2 = mul %0, "
      "%1\n%3 = sub %2, %2\nreturn %3\n";
  expect_caught(
      {.body = "%20 = get r[0]\n%21 = call f(%20, %6)\nstore y[%5] = %21\n", .declarations = kRegister, .functions = f},
      stored("k:17", {"%21, unwritten in lane 0"}));
  expect_caught({.body = "%20 = get r[0]\n%21 = shuffle_xor %20 by 1\nstore y[%5] = %21\n", .declarations = kRegister},
                stored("k:17", {"%21, unwritten in lane 0"}));
}

TEST(MachineUnwritten, ThreadgroupArrayOneSlotShortOfBeingWritten) {
  // The sum runs over one slot more than there are SIMD groups.
  const std::string body = R"(
    if %8
    shared_store partial[%1] = %1
    end
    barrier
    set r[0] = %6
    %20 = constant i64 $N
    %21 = constant i64 1
    for %22 = %11 to %20 step %21
    %23 = convert %22 to i32
    %24 = shared_load partial[%23]
    %25 = get r[0]
    %26 = add %25, %24
    set r[0] = %26
    end
    %27 = get r[0]
    store y[%5] = %27
)";
  const std::string arrays = kRegister + "shared partial: i32[8]\n";
  for (const std::uint32_t groups : {1u, 3u, 7u}) {
    expect_caught({.body = replaced(body, "$N", std::to_string(groups + 1)), .declarations = arrays, .groups = groups},
                  stored("k:22", {"%27, unwritten in lane 0, is stored to y["}));
    expect_clean({.body = replaced(body, "$N", "$G"), .declarations = arrays, .groups = groups});
  }
}

TEST(MachineUnwritten, ThreadgroupArraysOfTheThreadgroupBefore) {
  // Only threadgroup 0 writes the array; the next one finds nothing of it.
  expect_caught({.body = R"(
    %20 = constant i64 $T
    %21 = mul %10, %20
    %22 = add %21, %5
    %23 = eq %10, %11
    if %23
    shared_store s[%4] = %0
    end
    barrier
    %24 = shared_load s[%4]
    store y[%22] = %24
)",
                 .declarations = "buffer y: i32[2, $T] role output\nshared s: i32[$T]\n",
                 .launch = "threadgroups 2"},
                stored("k:22", {"%24, unwritten in lane 0", "threadgroup 1"}));
}

TEST(MachineUnwritten, OutputReadBeforeItIsWritten) {
  const std::string two = "buffer y: i32[$T] role output\nbuffer z: i32[$T] role $R\n";
  const std::string body = "%20 = load z[%5]\nstore y[%5] = %20\nstore z[%5] = %0\n";
  expect_caught({.body = body, .declarations = replaced(two, "$R", "output")},
                stored("k:16", {"%20, unwritten in lane 0, is stored to y["}));
  expect_clean({.body = body, .declarations = replaced(two, "$R", "inout")});
  expect_clean({.body = "store z[%5] = %0\n%20 = load z[%5]\nstore y[%5] = %20\n",
                .declarations = replaced(two, "$R", "output")});
}

TEST(MachineUnwritten, TheAddressOfWhatIsStoredIsNamed) {
  const std::vector<Diagnostic> findings =
      Bench(whole_text({.body = "%20 = get r[0]\n%21 = add %5, %5\nif %8\nelse\nstore "
                                "y[%21] = %0, %20\nend\nif %8\nstore y[%21] = %0, %0\nend\n",
                        .declarations = "buffer y: i32[2, $T] role output\nregister r: i32[1]\n",
                        .groups = 1},
                       8))
          .run()
          .findings;
  ASSERT_EQ(findings.size(), 1u) << findings_text(findings);
  EXPECT_NE(findings[0].message.find("%20, unwritten in lane 1, is stored to y[3]"), std::string::npos)
      << findings[0].text();
}

TEST(MachineUnwritten, AddressesConditionsAndBounds) {
  const std::string registers =
      "buffer y: i32[$T] role output\nregister r: i32[1]\nregister n: "
      "i64[1]\nregister b: bool[1]\nshared s: i32[4]\n";
  const std::pair<const char*, const char*> uses[] = {
      {"%21 = load y[%20]", "the address %20 of a load"},
      {"store y[%20] = %0", "the address %20 of a store"},
      {"for %21 = %11 to %20 step %20\nend", "the loop bound %20 of a loop"},
  };
  for (const auto& [use, says] : uses)
    expect_caught({.body = "%20 = get n[0]\n" + std::string(use) + "\n", .declarations = registers},
                  {Code::machine_poison_used, {"k:16"}, {says, "is unwritten in lane 0"}});
  expect_caught({.body = "%20 = get b[0]\nif %20\nend\n", .declarations = registers},
                {Code::machine_poison_used, {"k:16"}, {"the condition %20 of a branch is unwritten in lane 0"}});
  expect_caught({.body = "%20 = get r[0]\nshared_store s[%20] = %0\n", .declarations = registers},
                {Code::machine_poison_used, {"k:16"}, {"the index %20 of a shared_store is unwritten in lane 0"}});
  expect_caught({.body = "%20 = get r[0]\n%21 = shuffle %0, %20\n", .declarations = registers},
                {Code::machine_poison_used, {"k:16"}, {"the lane index %20 of a shuffle is unwritten in lane 0"}});
}

// tvm 12274: the maximum of a row that has fewer elements than the group has lanes.
const std::string kMax = "function greater(%0: i32, %1: i32) -> i32\n%2 = max %0, %1\nreturn %2\n";
const std::string kRow =
    "buffer x: i32[$H] role input\nbuffer y: i32[1] role "
    "output\nregister r: i32[1]\n";
const std::string kMaxOfRow = R"(
    @%20 = constant i32 $H
    %21 = lt %0, %20
    if %21
    %22 = load x[%13]
    %23 = neg %22
    set r[0] = %23
    end
    %24 = get r[0]
    %25 = fold_lanes greater(%24) first_bit 0 bits $B
    if %9
    store y[%11] = %25
    end
)";

TEST(MachineUnwritten, RegistersOfInactiveLanesTakeNoPartInAMax) {
  const KernelText kernel{.body = kMaxOfRow, .declarations = kRow, .groups = 1, .functions = kMax};
  expect_mended_by(kernel, "%30 = constant i32 -2147483648\nset r[0] = %30",
                   stored("k:20.1", {"%25, unwritten in lane 0, is stored to y[0]"}));
  KernelText right = kernel;
  right.body = replaced(kMaxOfRow, "@", "%30 = constant i32 -2147483648\nset r[0] = %30\n");
  for (const std::uint32_t width : kWidths) {
    Bench bench(whole_text(right, width));
    ASSERT_TRUE(bench.run().findings.empty());
    EXPECT_EQ(bench.value<std::int32_t>("y", 0), 0)
        << "x is 0, −1, −2, …: the maximum is that of x[0], at width " << width;
  }
}

TEST(MachineUnwritten, AFoldInsideTheBranchIsNoWayOutEither) {
  expect_caught({.body = R"(
    %20 = constant i32 $H
    %21 = lt %0, %20
    if %21
    %22 = load x[%13]
    %23 = fold_lanes greater(%22) first_bit 0 bits $B
    end
)",
                 .declarations = kRow,
                 .groups = 1,
                 .functions = kMax},
                {Code::machine_divergent_simd, {"k:17.2"}, {"fold_lanes with $H of $W lanes"}});
}

TEST(MachineUnwritten, ASelectLeavesOutWhatItDoesNotChoose) {
  expect_clean({.body = R"(
    %20 = constant i32 $H
    %21 = lt %0, %20
    if %21
    set r[0] = %0
    end
    %22 = get r[0]
    %23 = select %21, %22, %6
    store y[%5] = %23
)",
                .declarations = kRegister});
  expect_caught({.body = R"(
    %20 = constant i32 $H
    %21 = lt %0, %20
    if %21
    set r[0] = %0
    end
    %22 = get r[0]
    %23 = select %21, %6, %22
    store y[%5] = %23
)",
                 .declarations = kRegister},
                stored("k:20", {"%23, unwritten in lane $H"}));
}

}  // namespace
}  // namespace lanefold::machine
