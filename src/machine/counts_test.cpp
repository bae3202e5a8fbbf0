// Counts: exact numbers on small kernels.
#include "machine/counts.h"

#include "machine/test_checks.h"

namespace lanefold::machine {
namespace {

Counts counted(const KernelText& kernel, std::uint32_t width, const std::string& more = "") {
  const Report report = Bench(whole_text(kernel, width) + more).run(3);
  EXPECT_TRUE(report.findings.empty()) << findings_text(report.findings) << whole_text(kernel, width);
  return report.counts;
}

const BufferCount& buffer(const Counts& counts, const std::string& name) {
  const auto found =
      std::find_if(counts.buffers.begin(), counts.buffers.end(), [&](const auto& b) { return b.name == name; });
  if (found == counts.buffers.end()) internal_error("no count of " + name);
  return *found;
}

std::uint64_t operations(const Counts& counts, const std::string& name) {
  const auto found = counts.operations.find(name);
  return found == counts.operations.end() ? 0 : found->second;
}

/// What the 14 statements before the body do, per thread.
constexpr std::uint64_t kPreludeMuls = 1, kPreludeAdds = 1, kPreludeConverts = 2, kPreludeEqs = 2;

TEST(MachineCounts, ReadsAndWrites) {
  for (const std::uint32_t width : kWidths) {
    const std::uint64_t threads = 2 * width;
    // Every thread loads a vector of four, and x[0] again; the first half of each group stores two.
    const Counts counts = counted({.body = R"(
      %20 = constant i64 4
      %21 = mul %5, %20
      %22..%25 = load x[%21] align 4
      %26 = load x[%11]
      # the halves
      %27 = constant i32 $H
      %28 = lt %0, %27
      if %28
        %29 = constant i64 2
        %30 = mul %5, %29
        store y[%30] = %22, %26
      end
)",
                                   .declarations = "buffer x: f16[4, $T] role input\nbuffer y: "
                                                   "f32[4, $T] role inout\n"},
                                  width);
    const BufferCount& x = buffer(counts, "x");
    EXPECT_EQ(x.reads, 5 * threads);
    EXPECT_EQ(x.read_bytes, 2 * 5 * threads);
    EXPECT_EQ(x.distinct_reads,
              4 * threads);  // x[0] is read once more by every thread
    EXPECT_EQ(x.writes, 0u);
    EXPECT_EQ(x.distinct_writes, 0u);
    EXPECT_EQ(x.role, lane::Role::input);
    const BufferCount& y = buffer(counts, "y");
    EXPECT_EQ(y.reads, 0u);
    EXPECT_EQ(y.writes, threads);
    EXPECT_EQ(y.write_bytes, 4 * threads);
    EXPECT_EQ(y.distinct_writes, threads);
    EXPECT_EQ(counts.reads(), 5 * threads);
    EXPECT_EQ(counts.read_bytes(), 10 * threads);
    EXPECT_EQ(counts.writes(), threads);
    EXPECT_EQ(counts.write_bytes(), 4 * threads);
    ASSERT_EQ(counts.sites.size(), 3u);
    EXPECT_EQ(counts.sites[0].place, "k:17");
    EXPECT_EQ(counts.sites[0].elements, 4 * threads);
    EXPECT_EQ(counts.sites[0].bytes, 8 * threads);
    EXPECT_EQ(counts.sites[0].comment, "");
    EXPECT_FALSE(counts.sites[0].store);
    EXPECT_EQ(counts.sites[1].place, "k:18");
    EXPECT_EQ(counts.sites[1].elements, threads);
    EXPECT_EQ(counts.sites[2].place, "k:21.3");
    EXPECT_EQ(counts.sites[2].buffer, "y");
    EXPECT_EQ(counts.sites[2].comment, "the halves");
    EXPECT_TRUE(counts.sites[2].store);
    EXPECT_EQ(counts.sites[2].elements, threads);
    EXPECT_EQ(operations(counts, "mul"),
              threads * (kPreludeMuls + 1) + threads / 2);  // the third only in half of the lanes
    EXPECT_EQ(operations(counts, "lt"), threads);
  }
}

TEST(MachineCounts, EveryThreadgroupAndTurnOfALoop) {
  const Counts counts = counted({.body = R"(
    %20 = constant i64 7
    %21 = constant i64 2
    for %22 = %11 to %20 step %21
      %23 = load x[%22]
    end
)",
                                 .declarations = "buffer x: i8[7] role input\n",
                                 .groups = 2,
                                 .launch = "threadgroups 5"},
                                8);
  EXPECT_EQ(buffer(counts, "x").reads, 5u * 16 * 4);  // turns 0, 2, 4, 6
  EXPECT_EQ(buffer(counts, "x").read_bytes, 5u * 16 * 4);
  EXPECT_EQ(buffer(counts, "x").distinct_reads, 4u);
  EXPECT_EQ(counts.threadgroups, 5u);
  EXPECT_EQ(counts.launches, 1u);
  EXPECT_EQ(counts.sites.at(0).place, "k:17.1");
}

TEST(MachineCounts, Exchanges) {
  const Counts counts = counted({.body = R"(
    %20 = shuffle_xor %0 by 1
    %21 = shuffle_down %0 by 1
    %22 = shuffle %0, %6
    %23 = eq %1, %6
    if %23
      %24 = shuffle_xor %0 by 2
    end
)",
                                 .declarations = "",
                                 .groups = 3},
                                16);
  EXPECT_EQ(counts.shuffles, 3u * 3 + 1);  // by SIMD group
}

/// R registers of S components over `bits` lane bits.
Counts folded(std::uint32_t registers, std::uint32_t components, std::uint32_t bits, std::uint32_t width,
              std::uint32_t groups) {
  std::string parameters, types, body, returns, operands;
  for (std::uint32_t i = 0; i < 2 * components; ++i) parameters += (i == 0 ? "%" : ", %") + std::to_string(i) + ": i32";
  for (std::uint32_t c = 0; c < components; ++c) {
    const std::string v = std::to_string(2 * components + c);
    body += "%" + v + " = bit_xor %" + std::to_string(c) + ", %" + std::to_string(components + c) + "\n";
    returns += (c == 0 ? "%" : ", %") + v;
    types += c == 0 ? "i32" : ", i32";
  }
  for (std::uint32_t i = 0; i < registers * components; ++i) operands += i == 0 ? "%0" : ", %0";
  const std::uint32_t left = std::max(1u, registers >> bits) * components;
  const std::string results = left == 1 ? "%20" : "%20..%" + std::to_string(19 + left);
  return counted({.body = results + " = fold_lanes f(" + operands + ") first_bit 0 bits " + std::to_string(bits) + "\n",
                  .declarations = "",
                  .groups = groups,
                  .functions = "function f(" + parameters + ") -> " + types + "\n" + body + "return " + returns + "\n"},
                 width);
}

TEST(MachineCounts, FoldOfLanes) {
  // One register: one exchange and one merge per bit and component.
  EXPECT_EQ(folded(1, 1, 3, 8, 1).shuffles, 3u);
  EXPECT_EQ(operations(folded(1, 1, 3, 8, 1), "bit_xor"), 8u * 3);
  EXPECT_EQ(folded(1, 1, 5, 32, 4).shuffles, 4u * 5);
  EXPECT_EQ(folded(1, 3, 2, 4, 1).shuffles, 3u * 2);
  EXPECT_EQ(operations(folded(1, 3, 2, 4, 1), "bit_xor"), 4u * 3 * 2);
  // Eight registers over three bits: pairs become one, 4 + 2 + 1 exchanges instead of 8 · 3.
  EXPECT_EQ(folded(8, 1, 3, 8, 1).shuffles, 7u);
  EXPECT_EQ(operations(folded(8, 1, 3, 8, 1), "bit_xor"), 8u * 7);
  EXPECT_EQ(folded(8, 2, 3, 8, 2).shuffles, 2u * 2 * 7);
  EXPECT_EQ(operations(folded(8, 2, 3, 8, 2), "bit_xor"), 2u * 8 * 2 * 7);
  // More bits than registers: the last ones merge the one that is left; fewer: some registers stay.
  EXPECT_EQ(folded(2, 1, 4, 16, 1).shuffles, 1u + 1 + 1 + 1);
  EXPECT_EQ(folded(4, 1, 1, 16, 1).shuffles, 2u);
  EXPECT_EQ(folded(4, 1, 0, 16, 1).shuffles, 0u);
}

TEST(MachineCounts, BarriersAndThreadgroupMemory) {
  const Counts counts = counted({.body = R"(
    shared_store s[%4] = %12
    barrier
    %20 = constant i64 3
    %21 = constant i64 1
    for %22 = %11 to %20 step %21
      %23 = shared_load s[%6]
      simd_barrier
      barrier
    end
    %24 = eq %10, %11
    if %24
      cluster_barrier
    end
)",
                                 .declarations = "shared s: f16[$T]\nshared t: f32[3]\nregister "
                                                 "r: f32[5]\nregister n: i64[2]\n",
                                 .groups = 2,
                                 .launch = "threadgroups 4"},
                                8);
  EXPECT_EQ(counts.barrier_sites, 3u);
  EXPECT_EQ(counts.barriers, 4u * (1 + 3) + 1);
  EXPECT_EQ(counts.simd_barriers, 4u * 2 * 3);
  EXPECT_EQ(counts.shared_reads, 4u * 16 * 3);
  EXPECT_EQ(counts.shared_writes, 4u * 16);
  EXPECT_EQ(counts.shared_bytes,
            64u + 12);  // 32 bytes of s, and t at the next multiple of 64
  EXPECT_EQ(counts.registers, 7u);
}

TEST(MachineCounts, ArithmeticOfCalledFunctions) {
  const Counts counts = counted({.body = "%20 = call outer(%12)\nif %8\n%21 = call inner(%12)\nend\n",
                                 .declarations = "",
                                 .groups = 2,
                                 .functions = "function inner(%0: f32) -> f32\n%1 = mul %0, %0\n%2 = add "
                                              "%1, %0\nreturn %2\n"
                                              "function outer(%0: f32) -> f32\n%1 = call inner(%0)\n%2 = "
                                              "call inner(%1)\n"
                                              "%3 = sqrt %2\nreturn %3\n"},
                                16);
  constexpr std::uint64_t kThreads = 32;
  EXPECT_EQ(operations(counts, "mul"), kThreads * (kPreludeMuls + 2) + 2);
  EXPECT_EQ(operations(counts, "add"), kThreads * (kPreludeAdds + 2) + 2);
  EXPECT_EQ(operations(counts, "sqrt"), kThreads);
  EXPECT_EQ(operations(counts, "convert"), kThreads * kPreludeConverts);
  EXPECT_EQ(operations(counts, "eq"), kThreads * kPreludeEqs);
  EXPECT_EQ(operations(counts, "call"), 0u);  // looked into
}

TEST(MachineCounts, TwoViewsOfOneMemory) {
  // Blocks of two f16 scales and four i8 codes, in the memory of w: 8 bytes each, one for every thread.
  const Counts counts = counted({.body = R"(
    %20 = constant i64 4
    %21 = mul %5, %20
    %22 = load scales[%21]
    %23 = constant i64 2
    %24 = mul %21, %23
    %25 = constant i64 4
    %26 = add %24, %25
    %27..%30 = load w[%26]
)",
                                 .declarations = "buffer w: i8[8, $T] role input\nbuffer scales: "
                                                 "f16[4, $T] of w role input\n"},
                                8);
  EXPECT_EQ(buffer(counts, "w").reads, 4u * 16);
  EXPECT_EQ(buffer(counts, "w").read_bytes, 4u * 16);
  EXPECT_EQ(buffer(counts, "w").distinct_reads, 4u * 16);
  EXPECT_EQ(buffer(counts, "scales").reads, 16u);
  EXPECT_EQ(buffer(counts, "scales").read_bytes, 2u * 16);
  EXPECT_EQ(buffer(counts, "scales").distinct_reads, 16u);
  EXPECT_EQ(counts.read_bytes(), 6u * 16);
}

TEST(MachineCounts, SeveralLaunches) {
  const std::string first = R"(
    %20 = load x[%5]
    store y[%5] = %20
)";
  // The second kernel reads one element of x again, and all of y.
  const std::string second = R"(
kernel l simd_width 8 simd_groups 1 threadgroups 1
buffer x: i32[16] role input
buffer y: i32[16] role input
body
%0 = constant i64 3
%1 = load x[%0]
%2 = lane
%3 = convert %2 to i64
%4 = load y[%3]
barrier
)";
  const Counts counts = counted({.body = first,
                                 .declarations = "buffer x: i32[16] role input\nbuffer y: "
                                                 "i32[16] role output\nshared s: i32[3]\n"},
                                8, second);
  EXPECT_EQ(counts.launches, 2u);
  EXPECT_EQ(counts.threadgroups, 2u);
  EXPECT_EQ(buffer(counts, "x").reads, 16u + 8);
  EXPECT_EQ(buffer(counts, "x").distinct_reads, 16u) << "of both launches";
  EXPECT_EQ(buffer(counts, "y").writes, 16u);
  EXPECT_EQ(buffer(counts, "y").distinct_writes, 16u);
  EXPECT_EQ(buffer(counts, "y").reads, 8u);
  EXPECT_EQ(buffer(counts, "y").distinct_reads, 8u);
  EXPECT_EQ(counts.shared_bytes, 12u);
  EXPECT_EQ(counts.barrier_sites, 1u);
  EXPECT_EQ(counts.sites.size(), 4u);
}

}  // namespace
}  // namespace lanefold::machine
