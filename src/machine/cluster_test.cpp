// Threadgroup arrays of cluster peers: races without a cluster barrier, peers that may have ended, ranks that do not
// exist.
#include "machine/test_checks.h"

namespace lanefold::machine {
namespace {

/// A launch of two clusters of two; %20 is the rank of the peer, %21 an element of y for every thread of the launch.
KernelText cluster(const std::string& body) {
  return {.body = R"(
    %22 = cluster_rank
    %20 = bit_xor %22, %7
    %23 = constant i64 $T
    %24 = mul %10, %23
    %21 = add %24, %5
)" + body,
          .declarations = "buffer y: i32[4, $T] role output\nshared s: i32[$T]\n",
          .launch = "threadgroups 4 cluster 2"};
}

TEST(MachineClusters, LoadOfAPeerNeedsAClusterBarrier) {
  const std::string body = R"(
    shared_store s[%4] = %4
    cluster_barrier
    shared_store s[%4] = %0
    barrier
    @%25 = peer_load s[%4] of %20
    cluster_barrier
    store y[%21] = %25
)";
  expect_mended_by(
      cluster(body), "cluster_barrier",
      {Code::machine_cluster_race, {"k:22", "k:24"}, {" s[", "in lane ", "of threadgroup ", "cluster_barrier"}});
}

TEST(MachineClusters, PeerMayNotChangeWhatIsBeingRead) {
  expect_mended_by(cluster(R"(
    shared_store s[%4] = %4
    cluster_barrier
    %25 = peer_load s[%4] of %20
    store y[%21] = %25
    @shared_store s[%4] = %0
    cluster_barrier
)"),
                   "cluster_barrier", {Code::machine_cluster_race, {"k:22", "k:24"}, {" s[", "of threadgroup "}});
}

TEST(MachineClusters, StoreToAPeerNeedsAClusterBarrier) {
  expect_mended_by(cluster(R"(
    shared_store s[%4] = %4
    cluster_barrier
    peer_store s[%4] of %20 = %0
    @%25 = shared_load s[%4]
    cluster_barrier
    store y[%21] = %25
)"),
                   "cluster_barrier", {Code::machine_cluster_race, {"k:22", "k:23"}, {" s[", "of threadgroup "}});
}

TEST(MachineClusters, TwoStoresToOnePeer) {
  // Both threadgroups write the slots of rank 0.
  expect_caught(
      cluster(R"(
    peer_store s[%4] of %6 = %0
    cluster_barrier
    store y[%21] = %0
)"),
      {Code::machine_cluster_race, {"k:20"}, {" s[", "races with the peer_store at k:20", "of threadgroup "}});
  expect_clean(cluster(R"(
    peer_store s[%4] of %20 = %0
    cluster_barrier
    %25 = shared_load s[%4]
    store y[%21] = %25
)"));
}

TEST(MachineClusters, APeerThatMayHaveEnded) {
  const std::string body = R"(
    shared_store s[%4] = %4
    cluster_barrier
    %25 = peer_load s[%4] of %20
    store y[%21] = %25
)";
  expect_caught(cluster(body),
                {Code::machine_peer_ended, {"k:22"}, {"may have ended", "lane ", "of SIMD group ", " s"}});
  expect_clean(cluster(body + "cluster_barrier\n"));
  expect_caught(cluster(body + "barrier\n"), {Code::machine_peer_ended, {"k:22"}});
  // One's own array, named as a peer's, ends with oneself.
  expect_clean(cluster(R"(
    shared_store s[%4] = %4
    %25 = peer_load s[%4] of %22
    store y[%21] = %25
)"));
}

TEST(MachineClusters, RanksStayInTheCluster) {
  for (const char* rank : {"2", "-1"})
    expect_caught(cluster("%26 = constant i32 " + std::string(rank) + R"(
    shared_store s[%4] = %4
    cluster_barrier
    %25 = peer_load s[%4] of %26
    cluster_barrier
    store y[%21] = %0
)"),
                  {Code::machine_shared_bounds,
                   {"k:23"},
                   {"threadgroup " + std::string(rank) + " of a cluster of 2", "in lane 0"}});
}

TEST(MachineClusters, APeersArrayHasItsEnd) {
  expect_caught(cluster(R"(
    shared_store s[%4] = %4
    cluster_barrier
    %26 = add %4, %7
    %25 = peer_load s[%26] of %20
    cluster_barrier
    store y[%21] = %0
)"),
                {Code::machine_shared_bounds, {"k:23"}, {"s[$T]", "in lane ", "ends at $T"}});
}

TEST(MachineClusters, ABarrierOfOneThreadgroupIsNoClusterBarrier) {
  // Rank 0 waits for the cluster; rank 1 has ended.
  KernelText kernel = cluster(R"(
    store y[%21] = %0
    %26 = eq %22, %6
    if %26
    cluster_barrier
    end
)");
  expect_caught(kernel, {Code::machine_barrier_mismatch, {"k:22.1"}, {"has ended", "of threadgroup "}});
}

/// Four SIMD groups of two threadgroups, of which each has a place in an array.
KernelText exchanging(const std::string& body) {
  KernelText kernel = cluster(body);
  kernel.declarations = "buffer y: i32[4, $T] role output\nshared s: i32[4]\nshared t: i32[4]\n";
  return kernel;
}

TEST(MachineExchanges, EveryGroupGivesItsValueToAllThreadgroups) {
  for (const std::uint32_t width : kWidths) {
    Bench bench(whole_text(exchanging(R"(
    %26 = convert %10 to i32
    %27 = constant i32 10
    %28 = mul %26, %27
    %29 = simd_group
    %30 = add %28, %29
    %31 = neg %30
    exchange s = %30, %31
    %32 = shared_load s[%6]
    %33 = constant i32 3
    %34 = shared_load t[%33]
    %35 = constant i32 1000
    %36 = mul %32, %35
    %37 = sub %36, %34
    store y[%21] = %37
)"),
                           width));
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      ASSERT_TRUE(bench.run(seed).findings.empty());
      for (std::int32_t t = 0; t < 4; ++t)
        for (std::int64_t i = 0; i < 2 * width; ++i) {
          const std::int32_t first = 10 * (t & ~1), last = 10 * (t | 1) + 1;
          ASSERT_EQ(bench.value<std::int32_t>("y", t * 2 * width + i), 1000 * first + last);
        }
    }
  }
}

TEST(MachineExchanges, OneOrdersReadsBeforeWhatTheNextGives) {
  const std::string body = R"(
    exchange s = %7
    %25 = shared_load s[%6]
    exchange t = %25
    exchange s = %25
    %26 = shared_load s[%6]
    store y[%21] = %26
)";
  expect_clean(exchanging(body));
  // Without the one between, a group may still read what another one writes.
  Bench bench(whole_text(exchanging(R"(
    exchange s = %7
    %25 = shared_load s[%6]
    exchange s = %25
    %26 = shared_load s[%6]
    store y[%21] = %26
)"),
                         32));
  std::set<Code> codes;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    for (const Diagnostic& finding : bench.run(seed).findings) codes.insert(finding.code);
  EXPECT_EQ(codes, (std::set{Code::machine_shared_race, Code::machine_cluster_race}));
}

TEST(MachineExchanges, WhatWasStoredBeforeNeedsABarrier) {
  expect_caught(exchanging(R"(
    %25 = constant i32 3
    %26 = bit_and %4, %25
    %27 = le %4, %25
    if %27
    shared_store t[%26] = %26
    end
    exchange s = %7
    %28 = shared_load t[%25]
    store y[%21] = %28
)"),
                {Code::machine_shared_race, {"k:25"}, {" t[", "shared_store"}});
}

TEST(MachineExchanges, AllGroupsOfTheClusterMeet) {
  expect_caught(exchanging(R"(
    store y[%21] = %0
    %26 = eq %22, %6
    if %26
    exchange s = %7
    end
)"),
                {Code::machine_barrier_mismatch, {"k:22.1"}, {"has ended", "of threadgroup "}});
}

TEST(MachineClusters, ValuesComeFromThePeer) {
  for (const std::uint32_t width : kWidths) {
    Bench bench(whole_text(cluster(R"(
    %26 = convert %10 to i32
    shared_store s[%4] = %26
    cluster_barrier
    %25 = peer_load s[%4] of %20
    store y[%21] = %25
    cluster_barrier
)"),
                           width));
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      ASSERT_TRUE(bench.run(seed).findings.empty());
      for (std::int32_t t = 0; t < 4; ++t)
        for (std::int64_t i = 0; i < 2 * width; ++i)
          ASSERT_EQ(bench.value<std::int32_t>("y", t * 2 * width + i), t ^ 1);
    }
  }
}

}  // namespace
}  // namespace lanefold::machine
