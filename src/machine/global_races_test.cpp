// Races in buffers, and outputs that are written twice or not at all.
#include "machine/test_checks.h"

namespace lanefold::machine {
namespace {

KernelText two_threadgroups(std::string body, std::string declarations = "buffer y: i32[2] role output\n") {
  return {.body = std::move(body), .declarations = std::move(declarations), .launch = "threadgroups 2"};
}

TEST(MachineGlobalRaces, TwoThreadgroupsToOneElement) {
  expect_caught(two_threadgroups("if %9\nstore y[%11] = %0\nend\n"),
                {Code::machine_global_race,
                 {"k:15.1"},
                 {"y[0]", "in lane 0 ", "k:15.1 in lane 0 of SIMD group 0 of threadgroup "}});
  expect_clean(two_threadgroups("if %9\nstore y[%10] = %0\nend\n"));
}

TEST(MachineGlobalRaces, ABarrierDoesNotOrderThreadgroups) {
  const std::string z = "buffer z: i32[2] role inout\n";
  expect_caught(
      two_threadgroups(R"(
    %20 = constant i64 1
    %21 = bit_xor %10, %20
    if %9
    store z[%10] = %0
    end
    barrier
    if %9
    %22 = load z[%21]
    end
)",
                       z),
      {Code::machine_global_race, {"k:19.1", "k:17.1"}, {"z[", "in lane 0 ", "of threadgroup ", "two kernels"}});
  expect_clean(two_threadgroups("if %9\nstore z[%10] = %0\n%22 = load z[%10]\nend\n", z));
}

TEST(MachineGlobalRaces, ALaunchIsABarrierForAll) {
  // Each threadgroup of the second kernel reads what another one of the first has written.
  const std::string first =
      whole_text(two_threadgroups("if %9\nstore z[%10] = %0\nend\n", "buffer z: i32[2] role inout\n"), 8);
  const std::string second = whole_text(two_threadgroups(
                                            R"(
    %20 = constant i64 1
    %21 = bit_xor %10, %20
    if %9
    %22 = load z[%21]
    store y[%10] = %22
    end
)",
                                            "buffer z: i32[2] role input\nbuffer y: i32[2] role output\n"),
                                        8);
  Bench bench(first + replaced(second.substr(second.find("kernel")), "kernel k", "kernel l"));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Report report = bench.run(seed);
    EXPECT_TRUE(report.findings.empty()) << findings_text(report.findings);
  }
}

TEST(MachineGlobalRaces, AClusterBarrierOrdersItsOwnClusterOnly) {
  // All four threadgroups read z[0]; behind a cluster barrier one of the second cluster writes it. The other cluster
  // may still be reading, whichever of the two ran first here.
  KernelText kernel{.body = R"(
    %20 = load z[%11]
    cluster_barrier
    %21 = constant i64 2
    %22 = eq %10, %21
    if %22
    if %9
    store z[%11] = %0
    end
    end
)",
                    .declarations = "buffer z: i32[1] role inout\n",
                    .launch = "threadgroups 4 cluster 2"};
  expect_caught(kernel, {Code::machine_global_race, {"k:15", "k:19.1.1"}, {"z[0]", "in lane ", "of threadgroup "}});
  kernel.launch = "threadgroups 4 cluster 4";
  expect_clean(kernel);
}

TEST(MachineGlobalRaces, TwoLanesOfOneStatement) {
  const std::string y = "buffer y: i32[1] role output\n";
  expect_caught({.body = "store y[%11] = %0\n", .declarations = y},
                {Code::machine_global_race, {"k:15"}, {"y[0]", "in lane 1 ", "k:15 in lane 0"}});
  expect_clean({.body = "if %9\nstore y[%11] = %0\nend\n", .declarations = y});
}

TEST(MachineGlobalRaces, WithinAThreadgroup) {
  const std::string both = "buffer z: i32[$T] role inout\nbuffer y: i32[$T] role output\n";
  expect_mended_by(
      {.body = R"(
    store z[%5] = %0
    @%20 = bit_xor %4, %2
    %21 = convert %20 to i64
    %22 = load z[%21]
    store y[%5] = %22
)",
       .declarations = both},
      "barrier", {Code::machine_global_race, {"k:15", "k:18"}, {"z[", "in lane ", "of SIMD group ", "put a barrier"}});
  expect_mended_by({.body = R"(
    store z[%5] = %0
    @%20 = bit_xor %4, %7
    %21 = convert %20 to i64
    %22 = load z[%21]
    store y[%5] = %22
)",
                    .declarations = both},
                   "simd_barrier", {Code::machine_global_race, {"k:18"}, {"z[", "in lane 0 ", "k:15 in lane 1 "}});
  expect_mended_by({.body = R"(
    %20 = bit_xor %4, %2
    %21 = convert %20 to i64
    %22 = load z[%21]
    store y[%5] = %22
    @store z[%5] = %0
)",
                    .declarations = both},
                   "barrier", {Code::machine_global_race, {"k:17", "k:19"}, {"z[", "in lane "}});
}

TEST(MachineGlobalRaces, NarrowElementsOfOneWord) {
  // Lanes that store neighbouring bytes do not meet; a lane that loads the word that they make does.
  const std::string views =
      "buffer w: i32[$W] role inout\nbuffer b: i8[4, $W] "
      "of w role inout\nbuffer y: i32[$W] role output\n";
  const KernelText kernel{.body = R"(
    %20 = constant i64 4
    %21 = mul %13, %20
    %22 = constant i64 3
    %23 = add %21, %22
    store b[%21] = %0
    store b[%23] = %0
    @%24 = load w[%13]
    store y[%13] = %24
)",
                          .declarations = views,
                          .groups = 1};
  KernelText own = kernel;
  own.body = replaced(kernel.body, "@", "");
  expect_clean(own);
  KernelText others = kernel;
  others.body =
      replaced(replaced(kernel.body, "w[%13]", "w[%25]"), "@", "%26 = bit_xor %0, %7\n%25 = convert %26 to i64\n");
  expect_caught(others, {Code::machine_global_race, {"k:23"}, {"w[1]", "in lane 0 ", "in lane 1"}});
}

TEST(MachineOutputs, WrittenTwice) {
  expect_caught({.body = "store y[%5] = %0\nstore y[%5] = %0\n"},
                {Code::machine_written_twice, {"k:16"}, {"y[", "again in lane 0 "}});
  expect_clean({.body = "store y[%5] = %0\n"});
  // By another lane behind a barrier: no race, and still twice.
  expect_caught({.body = "store y[%5] = %0\nbarrier\nif %9\nstore y[%11] = %0\nend\n"},
                {Code::machine_written_twice, {"k:17.1"}, {"y[0]", "again in lane 0 "}});
  expect_caught({.body = "%20 = constant i64 3\n%21 = constant i64 1\nfor %22 = %11 to "
                         "%20 step %21\nstore y[%5] = %0\nend\n"},
                {Code::machine_written_twice, {"k:17.1"}, {"y[", "again in lane 0 "}});
  // What is changed in place may be written often.
  expect_clean({.body = "store y[%5] = %0\nstore y[%5] = %0\n", .declarations = "buffer y: i32[$T] role inout\n"});
}

TEST(MachineOutputs, Unwritten) {
  expect_caught({.body = "%20 = lt %6, %4\nif %20\nstore y[%5] = %0\nend\n"},
                {Code::machine_output_unwritten, {"y"}, {"y[0] was never written"}});
  expect_caught({.body = "store y[%5] = %0\n", .declarations = "buffer y: i32[3, $T] role output\n"},
                {Code::machine_output_unwritten, {"y"}, {"y[$T]"}});
  expect_caught(
      {.body = "store y[%5] = %0\n", .declarations = "buffer y: i32[$T] role output\nbuffer q: i8[1] role output 1\n"},
      {Code::machine_output_unwritten, {"q"}, {"q[0]"}});
  expect_clean(
      {.body = "store y[%5] = %0\n", .declarations = "buffer y: i32[$T] role output\nbuffer q: i8[1] role inout\n"});
}

TEST(MachineOutputs, OfWhichAByteIsMissing) {
  // The bytes of an output through a view of it: one word lacks its last byte.
  const std::string views = "buffer w: i32[$W] role output\nbuffer b: i8[4, $W] of w role output\n";
  const std::string three = R"(
    %20 = constant i64 4
    %21 = mul %13, %20
    store b[%21] = %0, %0
    %22 = constant i64 2
    %23 = add %21, %22
    store b[%23] = %0
)";
  const std::string last = "%24 = constant i64 3\n%25 = add %21, %24\nstore b[%25] = %0\n";
  expect_caught({.body = three, .declarations = views, .groups = 1}, {Code::machine_output_unwritten, {"w"}, {"w[0]"}});
  expect_clean({.body = three + last, .declarations = views, .groups = 1});
}

}  // namespace
}  // namespace lanefold::machine
