// Pairs of small kernels that a proof must not call equal, found by attacking it, and their right twins.
#include "verify/prove.h"

#include <gtest/gtest.h>

namespace lanefold::verify {
namespace {

/// One kernel of `threadgroups` threadgroups of four lanes; %0 is the lane and %1 the lane as i64.
Instance kernel(const std::string& declarations, const std::string& body, int threadgroups = 1,
                const std::string& functions = "") {
  Instance instance;
  const std::string text = "module m\n" + functions + "kernel k simd_width 4 simd_groups 1 threadgroups " +
                           std::to_string(threadgroups) + "\n" + declarations +
                           "body\n%0 = lane\n%1 = convert %0 to i64\n" + body;
  Result<lane::Module> module = lane::parse(text);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
  instance.name = "k";
  instance.module = std::move(module).value();
  instance.parameters = {1.0f, 2.0f};
  Result<std::vector<ModuleBuffer>> buffers = module_buffers(instance.module, 1, 1);
  EXPECT_TRUE(buffers.ok()) << (buffers.ok() ? "" : buffers.error().text());
  instance.buffers = std::move(buffers).value();
  return instance;
}

Proof proof_of(const Instance& a, const Instance& b) {
  Result<Proof> proof = prove(a, b);
  EXPECT_TRUE(proof.ok()) << (proof.ok() ? "" : proof.error().text());
  return std::move(proof).value();
}

void expect_reason(const Proof& proof, const std::string& part) {
  EXPECT_EQ(proof.verdict, Verdict::not_provable) << proof.a << " | " << proof.b;
  EXPECT_NE(proof.reason.find(part), std::string::npos) << proof.reason;
}

const std::string kXY = "buffer x: f32[4] role input\nbuffer y: f32[4] role output\n";

TEST(Prove, ChoosingByDataDoesNotHideWhatNobodyWrote) {
  const std::string chosen =
      "%2 = load x[%1]\n%3 = get r[0]\n%4 = constant f32 0\n%5 = lt %2, %4\n%6 = select %5, %2, %3\n"
      "%7 = canonical_nan %6\nstore y[%1] = %7\n";
  const Instance select = kernel(kXY + "register r: f32[1]\n", chosen);
  expect_reason(proof_of(select, select), "machine_poison_stored");
  const Instance either =
      kernel("buffer x: f32[4] role input\nbuffer y: i32[4] role output\nregister r: bool[1]\n",
             "%2 = load x[%1]\n%3 = get r[0]\n%4 = constant f32 0\n%5 = lt %2, %4\n%6 = bit_or %5, %3\n"
             "%7 = convert %6 to i32\nstore y[%1] = %7\n");
  expect_reason(proof_of(either, either), "machine_poison_stored");
}

TEST(Prove, PartOfAnElementCounts) {
  const auto bytes = [](const char* offset) {
    return kernel("buffer x: i8[16] role input\nbuffer y: f32[4] role inout\nbuffer yb: i8[16] of y role inout\n",
                  std::string("%2 = constant i64 4\n%3 = mul %1, %2\n%4 = constant i64 ") + offset +
                      "\n%5 = add %1, %4\n%6 = load x[%5]\nstore yb[%3] = %6\n");
  };
  EXPECT_EQ(proof_of(bytes("0"), bytes("0")).verdict, Verdict::equal);
  EXPECT_EQ(proof_of(bytes("0"), bytes("1")).verdict, Verdict::different);
}

TEST(Prove, InputsAreNotStoredTo) {
  const auto faults =
      lane::verify(kernel("buffer x: f32[4] role input\n", "%2 = constant f32 0\nstore x[%1] = %2\n").module);
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults.front().code, Code::lane_bad_attribute) << faults.front().text();
  const auto view = lane::verify(kernel("buffer x: f32[4] role input\nbuffer v: f32[4] of x role inout\n",
                                        "%2 = constant f32 0\nstore v[%1] = %2\n")
                                     .module);
  ASSERT_FALSE(view.empty());
}

TEST(Prove, RacesBetweenThreadgroupsAreSeenThoughEachIsProvedAlone) {
  const std::string place = "%2 = threadgroup\n%3 = constant i64 4\n%4 = mul %2, %3\n%5 = add %4, %1\n";
  const Instance next = kernel("buffer y: f32[16] role inout\n",
                               place +
                                   "%6 = constant i64 1\n%7 = add %2, %6\n%8 = rem %7, %3\n%9 = mul %8, %3\n"
                                   "%10 = add %9, %1\n%11 = load y[%10]\n%12 = constant f32 1\n%13 = add %11, %12\n"
                                   "%14 = canonical_nan %13\nstore y[%5] = %14\n",
                               4);
  expect_reason(proof_of(next, next), "machine_global_race");
  const Instance same = kernel("buffer x: f32[16] role input\nbuffer y: f32[4] role output\n",
                               place + "%6 = load x[%5]\nstore y[%1] = %6\n", 4);
  expect_reason(proof_of(same, same), "machine_global_race");
}

TEST(Prove, OutputsThatNobodyWritesAreNotEqual) {
  const Instance nothing = kernel(kXY, "%2 = load x[%1]\n");
  expect_reason(proof_of(nothing, nothing), "machine_output_unwritten");
}

TEST(Prove, ThreadgroupsMayShareTheWorkOtherwise) {
  const auto copies = [](const std::string& tile) {
    return kernel("buffer x: f32[16] role input\nbuffer y: f32[16] role output\n",
                  "%2 = threadgroup\n%3 = constant i64 4\n%4 = constant i64 3\n" + tile +
                      "%6 = mul %5, %3\n%7 = add %6, %1\n%8 = load x[%7]\nstore y[%7] = %8\n",
                  4);
  };
  const Proof proof = proof_of(copies("%9 = constant i64 0\n%5 = add %2, %9\n"), copies("%5 = sub %4, %2\n"));
  EXPECT_EQ(proof.verdict, Verdict::equal) << proof.a << " | " << proof.b;
  EXPECT_EQ(proof.parts, std::vector<std::string>{"the whole launch"});
}

TEST(Prove, ArgMergesOfOneIndexKeepTheirOrder) {
  const std::string merge =
      "function merge_argmax(%0: f32, %1: i32, %2: f32, %3: i32) -> f32, i32\n"
      "%4 = ne %0, %0\n%5 = ne %2, %2\n%6 = lt %3, %1\n%7 = bit_and %5, %6\n%8 = gt %2, %0\n%9 = bit_or %5, %8\n"
      "%10 = eq %2, %0\n%11 = bit_and %10, %6\n%12 = bit_or %9, %11\n%13 = select %4, %7, %12\n"
      "%14 = select %13, %2, %0\n%15 = select %13, %3, %1\nreturn %14, %15\n";
  const auto merged = [&](const char* arguments) {
    return kernel("buffer x: f32[8] role input\nbuffer y: f32[4] role output\n",
                  std::string("%2 = constant i64 4\n%3 = add %1, %2\n%4 = load x[%1]\n%5 = load x[%3]\n"
                              "%6 = constant i32 0\n%10 = constant i32 1\n%7..%8 = call merge_argmax(") +
                      arguments + ")\n%9 = canonical_nan %7\nstore y[%1] = %9\n",
                  1, merge);
  };
  EXPECT_EQ(proof_of(merged("%4, %6, %5, %10"), merged("%5, %10, %4, %6")).verdict, Verdict::equal);
  EXPECT_NE(proof_of(merged("%4, %6, %5, %6"), merged("%5, %6, %4, %6")).verdict, Verdict::equal);
}

TEST(Prove, StepsOfArgmaxAreMergesInAscendingOrderOnly) {
  const std::string functions =
      "function merge_argmax(%0: f32, %1: i32, %2: f32, %3: i32) -> f32, i32\n"
      "%4 = ne %0, %0\n%5 = ne %2, %2\n%6 = lt %3, %1\n%7 = bit_and %5, %6\n%8 = gt %2, %0\n%9 = bit_or %5, %8\n"
      "%10 = eq %2, %0\n%11 = bit_and %10, %6\n%12 = bit_or %9, %11\n%13 = select %4, %7, %12\n"
      "%14 = select %13, %2, %0\n%15 = select %13, %3, %1\nreturn %14, %15\n"
      "function step_argmax(%0: f32, %1: i32, %2: f32, %3: i32) -> f32, i32\n"
      "%4 = le %2, %0\n%5 = eq %0, %0\n%6 = bit_not %4\n%7 = bit_and %6, %5\n"
      "%8 = select %7, %2, %0\n%9 = select %7, %3, %1\nreturn %8, %9\n";
  const auto found = [&](const char* call) {
    return kernel("buffer x: f32[8] role input\nbuffer y: f32[4] role output\nbuffer z: i32[4] role output\n",
                  std::string("%2 = constant i64 4\n%3 = add %1, %2\n%4 = load x[%1]\n%5 = load x[%3]\n"
                              "%6 = constant i32 0\n%10 = constant i32 1\n%7..%8 = call ") +
                      call + "\n%9 = canonical_nan %7\nstore y[%1] = %9\nstore z[%1] = %8\n",
                  1, functions);
  };
  EXPECT_EQ(proof_of(found("step_argmax(%4, %6, %5, %10)"), found("merge_argmax(%4, %6, %5, %10)")).verdict,
            Verdict::equal);
  // Of equal numbers the step keeps the one that it has, whose index is the higher one here; and so it is with equal indices.
  EXPECT_NE(proof_of(found("step_argmax(%5, %10, %4, %6)"), found("merge_argmax(%5, %10, %4, %6)")).verdict,
            Verdict::equal);
  EXPECT_NE(proof_of(found("step_argmax(%4, %6, %5, %6)"), found("merge_argmax(%5, %6, %4, %6)")).verdict,
            Verdict::equal);
}

TEST(Prove, ParametersAreKnownByNumber) {
  const auto scaled = [](const char* name, const char* index) {
    return kernel(kXY + "scalar " + name + ": f32 role parameter " + index + "\n",
                  std::string("%2 = load x[%1]\n%3 = argument ") + name +
                      "\n%4 = mul %2, %3\n%5 = canonical_nan %4\nstore y[%1] = %5\n");
  };
  EXPECT_EQ(proof_of(scaled("p", "0"), scaled("q", "0")).verdict, Verdict::equal);
  EXPECT_EQ(proof_of(scaled("p", "0"), scaled("p", "1")).verdict, Verdict::different);
}

TEST(Prove, AComputedNansPayloadIsInDoubt) {
  const auto stores = [](const std::string& value) { return kernel(kXY, value + "store y[%1] = %3\n"); };
  const Instance computed = stores("%2 = constant f32 inf\n%3 = sub %2, %2\n");
  expect_reason(proof_of(computed, stores("%3 = constant f32 0xffc00000\n")), "payload");
  const Instance canonical = stores("%2 = constant f32 inf\n%4 = sub %2, %2\n%3 = canonical_nan %4\n");
  EXPECT_EQ(proof_of(canonical, stores("%3 = constant f32 0x7fc00000\n")).verdict, Verdict::equal);
}

TEST(Prove, DivisorsDoNotDependOnData) {
  const Instance divides = kernel("buffer x: i32[4] role input\nbuffer y: i32[4] role output\n",
                                  "%2 = load x[%1]\n%3 = constant i32 7\n%4 = constant i32 1\n%5 = max %2, %4\n"
                                  "%6 = div %3, %5\nstore y[%1] = %6\n");
  expect_reason(proof_of(divides, divides), "machine_depends_on_data");
}

TEST(Prove, AFunctionNamedLikeAHelperIsLookedInto) {
  const auto calls = [](const char* body) {
    return kernel(kXY, "%2 = load x[%1]\n%3 = call exp(%2)\n%4 = canonical_nan %3\nstore y[%1] = %4\n", 1,
                  std::string("function exp(%0: f32) -> f32\n") + body);
  };
  const Instance twice = calls("%1 = add %0, %0\nreturn %1\n");
  EXPECT_EQ(proof_of(twice, twice).verdict, Verdict::equal);
  EXPECT_EQ(proof_of(twice, calls("%1 = mul %0, %0\nreturn %1\n")).verdict, Verdict::different);
}

}  // namespace
}  // namespace lanefold::verify
