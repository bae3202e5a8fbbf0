#include "emit/cuda/cuda_source.h"

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "emit/cuda/test_text.h"

namespace lanefold::emit {
namespace {

const std::string kBuffers =
    "  buffer x: f32[rows, cols] role input\n"
    "  buffer h: bf16[rows, cols] role input\n"
    "  buffer q: i8[rows, cols] role input\n"
    "  buffer y: f32[rows, cols] role output\n"
    "  buffer o: bf16[rows, cols] role output 1\n"
    "  scalar x_row_stride: i64 role input_row_stride\n"
    "  scalar cols: i64 role cols\n";

lane::Module module_of(const std::string& body, const std::string& declared = "",
                       const std::string& head = "k simd_width 32 simd_groups 4 rows_per_threadgroup 2",
                       const std::string& functions = "") {
  auto parsed =
      lane::parse("module m\n" + functions + "\nkernel " + head + "\n" + kBuffers + declared + "  body\n" + body);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return parsed.ok() ? *parsed : lane::Module{};
}

std::string emitted(const lane::Module& module, const CudaOptions& options = {}) {
  const auto source = cuda_source(module, options);
  EXPECT_TRUE(source.ok()) << source.error().text();
  return source.ok() ? source->text : "";
}

Code refusal(const lane::Module& module) {
  const auto source = cuda_source(module, {});
  EXPECT_FALSE(source.ok());
  return source.ok() ? Code::syntax : source.error().code;
}

TEST(CudaSource, RefusesWhatCudaCannotRun) {
  const std::string body = "    %0 = lane\n";
  EXPECT_EQ(code_name(refusal(module_of(body, "", "k simd_width 16 simd_groups 1 rows_per_threadgroup 1"))),
            code_name(Code::not_for_cuda));
  lane::Module two = module_of(body, "", "exp simd_width 32 simd_groups 1 rows_per_threadgroup 1");
  two.kernels.push_back(two.kernels[0]);
  two.kernels[1].name = "exp_kernel";
  EXPECT_EQ(code_name(refusal(two)), code_name(Code::not_for_cuda));
  EXPECT_EQ(code_name(refusal(module_of(body, "  shared s: f32[60000]\n"))), code_name(Code::not_for_cuda));
}

TEST(CudaSource, ASingleUseStandsInsideOfItsUse) {
  const std::string text = emitted(
      module_of("    %0 = threadgroup\n    %1 = argument x_row_stride\n    %2 = mul %0, %1\n    %3 = lane\n"
                "    %4 = convert %3 to i64\n    %5 = add %2, %4\n    %6 = load x[%5]\n    %7 = constant f32 0.1\n"
                "    # scale\n    %8 = mul %6, %7\n    store y[%5] = %8\n"));
  expect_parts(
      text,
      {"namespace lanefold_m {", "mul.rn.f32",
       "// Launch: grid = ceil(rows / 2); block = 128; no dynamic shared memory.",
       "extern \"C\" __global__ void __launch_bounds__(128)",
       "k(const float* x, const bf16* h, const signed char* q, float* y, const bf16* o, long long x_row_stride,",
       "const int lane = threadIdx.x % 32;", "const long long threadgroup = blockIdx.x;",
       "const long long place = threadgroup * x_row_stride + lane;", "// scale", "y[place] = mul(x[place], 0.1f);"});
  expect_without(text, "add.rn.f32");
  expect_without(text, "#include");
  expect_without(text, "__restrict__");
}

TEST(CudaSource, NoLoadMovesOverAStore) {
  const std::string text =
      emitted(module_of("    %0 = constant i64 0\n    %1 = constant i64 1\n    %2 = load x[%0]\n    %3 = load x[%1]\n"
                        "    store y[%1] = %2\n    store y[%0] = %3\n"));
  expect_parts(text, {"const float x_value = x[1];", "y[1] = x[0];", "y[0] = x_value;"});
}

TEST(CudaSource, NoRegisterIsReadAfterItHasChanged) {
  const std::string text = emitted(
      module_of("    %0 = constant i64 0\n    %1 = constant f32 1\n    set r[0] = %1\n    %2 = get r[0]\n"
                "    %3 = get r[0]\n    %4 = add %3, %1\n    %5 = lane\n    %6 = constant i32 3\n    %7 = lt %5, %6\n"
                "    if %7\n      set r[0] = %4\n    end\n    %8 = mul %2, %2\n    store y[%0] = %8\n",
                "  register r: f32[1]\n"));
  expect_parts(text, {"float r;", "r = 1.0f;", "const float sum = add(r, 1.0f);", "const float r_value = r;",
                      "if (lane < 3) {", "r = sum;", "}", "y[0] = mul(r_value, r_value);"});
}

TEST(CudaSource, BarriersKeepSharedReadsInPlace) {
  const std::string text =
      emitted(module_of("    %0 = lane\n    %1 = constant f32 2\n    shared_store s[%0] = %1\n    barrier\n"
                        "    %2 = shared_load s[%0]\n    barrier\n    %3 = constant i64 0\n    store y[%3] = %2\n",
                        "  shared s: f32[32]\n"));
  expect_parts(text, {"__shared__ __align__(16) float s[32];", "s[lane] = 2.0f;", "__syncthreads();",
                      "const float s_value = s[lane];", "__syncthreads();", "y[0] = s_value;"});
}

TEST(CudaSource, LargeArraysAreDynamic) {
  const lane::Module module = module_of("    %0 = lane\n    %1 = constant f32 2\n    shared_store t[%0] = %1\n",
                                        "  shared s: bf16[9000]\n  shared t: f32[9000]\n");
  EXPECT_EQ(cuda_dynamic_shared_bytes(module.kernels[0]), lane::shared_bytes(module.kernels[0]));
  expect_parts(emitted(module), {"54048 bytes of dynamic shared memory.",
                                 "extern __shared__ __align__(128) unsigned char threadgroup_memory[];",
                                 "bf16* const s = reinterpret_cast<bf16*>(threadgroup_memory + 0);",
                                 "float* const t = reinterpret_cast<float*>(threadgroup_memory + 18048);"});
}

TEST(CudaSource, AlignedVectorsAreOneAccess) {
  const std::string text = emitted(
      module_of("    %0 = constant i64 8\n    %1..%4 = load x[%0] align 4\n    store y[%0] = %4, %3, %2, %1 align 4\n"
                "    %5..%12 = load h[%0] align 8\n    store o[%0] = %5, %6, %7, %8, %9, %10, %11, %12 align 8\n"
                "    %13..%16 = load q[%0] align 4\n    %17 = convert %16 to f32\n    store y[%0] = %17\n"
                "    %18..%19 = load x[%0] align 2 streaming\n    store y[%0] = %18, %19 align 2 streaming\n"
                "    %20..%21 = load x[%0]\n    store y[%0] = %20, %21\n"));
  expect_parts(
      text, {"const float4 x_values = *reinterpret_cast<const float4*>(x + 8);",
             "*reinterpret_cast<float4*>(y + 8) = make_float4(x_values.w, x_values.z, x_values.y, x_values.x);",
             "const uint4 h_values = *reinterpret_cast<const uint4*>(h + 8);",
             "*reinterpret_cast<uint4*>(o + 8) =", "make_uint4(pack_bf16(bf16_low(h_values.x), bf16_high(h_values.x)),",
             "const unsigned int q_values = *reinterpret_cast<const unsigned int*>(q + 8);",
             "y[8] = __int2float_rn(signed_byte(q_values, 3));", "= load_once(reinterpret_cast<const float2*>(x + 8));",
             "__stcs(reinterpret_cast<float2*>(y + 8),", "x[8]", "y[8] ="});
}

TEST(CudaSource, HalvesOfWordsAreComparedInPairs) {
  const std::string text = emitted(module_of(
      "    %0 = constant i64 0\n    %1..%4 = load h[%0] align 4\n    %5 = max %1, %3\n    %6 = max %2, %4\n"
      "    %7 = min %5, %1\n    %8 = max %5, %6\n    %9 = lane\n    %10 = constant i32 3\n    %11 = lt %9, %10\n"
      "    if %11\n      %12 = max %2, %4\n      store y[%0] = %12\n    end\n    store y[%0] = %7\n"
      "    store y[%0] = %8\n"));
  expect_parts(text,
               {"max.NaN.bf16x2", "const unsigned int larger_pair = maximum_pair(h_values.x, h_values.y);",
                "= minimum_pair(larger_pair, h_values.x);", "if (", "= maximum(h_values_3, h_values_4);",
                "y[0] = bf16_low(smaller_pair);", "y[0] = maximum(bf16_low(larger_pair), bf16_high(larger_pair));"});
}

/// A vector of h that lanes below 3 load, in an array of this size.
std::string guarded_load(int elements) {
  std::string text =
      "    %0 = constant i64 0\n    %1 = constant f32 0\n    %2 = lane\n    %3 = constant i32 3\n    %4 = lt %2, %3\n";
  for (int i = 0; i < elements; ++i) text += "    set r[" + std::to_string(i) + "] = %1\n";
  text += "    if %4\n      %5..%" + std::to_string(4 + elements) + " = load h[%0] align 8\n";
  for (int i = 0; i < elements; ++i)
    text += "      set r[" + std::to_string(i) + "] = %" + std::to_string(5 + i) + "\n";
  return text + "    end\n";
}

TEST(CudaSource, WhatSomeLanesLoadIsAVariableOfWords) {
  const std::string get = "    %20 = get r[1]\n    %21 = get r[3]\n    %22 = max %20, %21\n    store y[%0] = %22\n";
  const std::string text = emitted(module_of(guarded_load(4) + get, "  register r: f32[4]\n"));
  expect_parts(text, {"uint2 h_guarded = {};", "if (lane < 3) {", "h_guarded = *reinterpret_cast<const uint2*>(h + 0);",
                      "const unsigned int larger_pair = maximum_pair(h_guarded.x, h_guarded.y);",
                      "y[0] = bf16_high(larger_pair);"});
  expect_without(text, "r[");
}

TEST(CudaSource, ARegisterArrayThatIsMoreThanALoadStaysOne) {
  const std::string load = guarded_load(4), get = "    %20 = get r[1]\n    store y[%0] = %20\n";
  std::string one = load;
  one.replace(one.find("f32 0"), 5, "f32 1");
  std::string early = load;
  early.insert(early.find("    if"), "    %30 = get r[0]\n    store y[%0] = %30\n");
  for (const std::string& body : {load + "    set r[1] = %1\n" + get, one + get, early + get}) {
    const std::string text = emitted(module_of(body, "  register r: f32[4]\n"));
    expect_parts(text, {"float r[4];", "r[0] = ", "if (", "r[3] = bf16_high(h_values.y);", "y[0] = r[1];"});
  }
}

/// 32 elements of h that are folded, shared, and then folded again less the first, beside what `after` does with element 9.
std::string two_sweeps(const std::string& after) {
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("    %{} = constant i64 {}\n", i, 8 * i);
  for (int i = 0; i < 4; ++i) text += fmt::format("    %{}..%{} = load h[%{}] align 8\n", 8 * i + 8, 8 * i + 15, i);
  for (int i = 0; i < 32; ++i)
    text += fmt::format("    %{} = add {}, %{}\n", 50 + i, i == 0 ? "%8" : fmt::format("%{}", 49 + i), 8 + i);
  text += "    barrier\n";
  for (int i = 0; i < 32; ++i) {
    text += fmt::format("    %{} = sub %{}, %81\n", 100 + i, 8 + i);
    text += fmt::format("    %{} = mul %{}, %{}\n", 140 + i, 100 + i, 100 + i);
    text += fmt::format("    store y[%0] = %{}\n", 140 + i);
  }
  return text + "    barrier\n" + after;
}

TEST(CudaSource, WideRowsStayPackedBetweenSweeps) {
  const std::string text = emitted(module_of(two_sweeps("    store y[%0] = %9\n    store y[%1] = %117\n")));
  expect_parts(text, {"void anew(uint4& words)", "uint4 h_values = *reinterpret_cast<const uint4*>(h + 0);",
                      "uint4 h_values_4 = ", "add(bf16_low(h_values.x), bf16_low(h_values.x))", "__syncthreads();",
                      "anew(h_values);", "anew(h_values_4);", "const float difference = sub(bf16_low(h_values.x), sum",
                      "= mul(difference, difference);", "__syncthreads();", "anew(h_values);", "anew(h_values_3);",
                      "y[0] = bf16_high(h_values.x);", "y[8] = sub(bf16_high(h_values_3.x), sum"});
  EXPECT_EQ(text.find("anew(h_values_4);", text.rfind("__syncthreads")), text.npos) << text;
}

TEST(CudaSource, ShortRowsDoNotStayPacked) {
  expect_without(emitted(module_of("    %0 = constant i64 0\n    %1..%8 = load h[%0] align 8\n    %9 = add %1, %2\n"
                                   "    barrier\n    %10 = mul %1, %2\n    store y[%0] = %9\n    store y[%0] = %10\n")),
                 "anew");
}

TEST(CudaSource, AStoreInPiecesReadsFirst) {
  const std::string text =
      emitted(module_of("    %0 = constant i64 0\n    %1 = constant i64 1\n    %2 = load x[%1]\n    %3 = load x[%0]\n"
                        "    store y[%0] = %2, %3\n"));
  expect_parts(text, {"const float x_value = x[1];", "const float x_value_2 = x[0];", "y[0] = x_value;",
                      "y[0 + 1] = x_value_2;"});
}

TEST(CudaSource, WideBlocksOfClustersLeaveRoomForAnother) {
  const std::string body =
      "    %0 = cluster_rank\n    %1 = constant i64 0\n    %2 = load x[%1]\n    store y[%1] = %2\n";
  const auto bounds = [&](const std::string& groups, const std::string& cluster) {
    return emitted(module_of(body, "", "k simd_width 32 simd_groups " + groups + " rows_per_threadgroup 1" + cluster));
  };
  const std::string cluster = " threadgroups_per_row 2 cluster 2";
  expect_parts(bounds("16", cluster), {"__launch_bounds__(512, 2)"});
  expect_parts(bounds("8", cluster), {"__launch_bounds__(256)\n"});
  expect_parts(bounds("16", ""), {"__launch_bounds__(512)\n"});
}

TEST(CudaSource, IntegersWrapWhereTheyMay) {
  const std::string text = emitted(module_of(
      "    %0 = lane\n    %1 = constant i32 4\n    %2 = mul %0, %1\n    %3 = constant i64 0\n    %4 = load x[%3]\n"
      "    %5 = bitcast %4 to i32\n    %6 = add %5, %1\n    %7 = shift_left %6, %1\n    %8 = bitcast %7 to f32\n"
      "    %9 = convert %2 to i64\n    %10 = constant i64 8589934592\n    %11 = mul %9, %10\n"
      "    store y[%11] = %8\n"));
  expect_parts(text,
               {"y[lane * 4 * 8589934592LL] = __int_as_float(wrap_shift(wrap_add(__float_as_int(x[0]), 4), 4));"});
}

TEST(CudaSource, WideArithmeticOfNarrowValuesIsWide) {
  const std::string text = emitted(module_of(
      "    %0 = argument cols\n    %1 = convert %0 to i32\n    %2 = convert %1 to i64\n    %3 = constant i64 4\n"
      "    %4 = mul %2, %3\n    %5 = constant f32 1\n    store y[%4] = %5\n"));
  expect_parts(text, {"y[static_cast<long long>(static_cast<int>(cols)) * 4] = 1.0f;"});
}

constexpr const char* kSum =
    "\nfunction merge_sum(%0: f32, %1: f32) -> f32\n  %2 = add %0, %1\n  return %2\n"
    "\nfunction merge_first(%0: bool, %1: i32, %2: bool, %3: i32) -> bool, i32\n  %4 = select %0, %1, %3\n"
    "  %5 = bit_or %0, %2\n  return %5, %4\n";

TEST(CudaSource, FoldsTransposeAndThenExchange) {
  const std::string text =
      emitted(module_of("    %0 = constant i64 0\n    %1 = load x[%0]\n    %2 = constant f32 3\n"
                        "    %3 = fold_lanes merge_sum(%1, %2) first_bit 0 bits 2\n    store y[%0] = %3\n",
                        "", "k simd_width 32 simd_groups 1 rows_per_threadgroup 1", kSum));
  expect_parts(text, {"float merge_sum(float a, float b) { return add(a, b); }", "const float x_value = x[0];",
                      "const float sum = merge_sum(by_bit(0, x_value, 3.0f), trade(0, x_value, 3.0f));",
                      "const float sum_2 = merge_sum(sum, __shfl_xor_sync(0xffffffffu, sum, 2));", "y[0] = sum_2;"});
}

TEST(CudaSource, MergesThatDoNotCommuteKeepTheirSides) {
  const std::string text =
      emitted(module_of("    %0 = lane\n    %1 = constant i32 3\n    %2 = lt %0, %1\n"
                        "    %3..%4 = fold_lanes merge_first(%2, %0) first_bit 1 bits 1\n    %5 = convert %4 to f32\n"
                        "    %6 = constant i64 0\n    store y[%6] = %5\n",
                        "", "k simd_width 32 simd_groups 1 rows_per_threadgroup 1", kSum));
  expect_parts(
      text, {"struct merge_first_result {", "bool v0;", "int v1;", "return merge_first_result{a0 | b0, a0 ? a1 : b1};",
             "const bool is_below = lane < 3;", "const bool received = __shfl_xor_sync(0xffffffffu, is_below, 2);",
             "by_bit(1, is_below, received)", "by_bit(1, received, is_below)", "__int2float_rn(first.v1)"});
}

TEST(CudaSource, PermutationsAreArithmeticWhereTheyCanBe) {
  const auto permuted = [](auto source) {
    std::string table;
    for (int i = 0; i < 32; ++i) table += " " + std::to_string(source(i));
    return emitted(
        module_of("    %0 = constant i64 0\n    %1 = load x[%0]\n    %2 = load h[%0]\n    %3 = permute2 %1, %2 table" +
                  table + "\n    store y[%0] = %3\n"));
  };
  expect_parts(permuted([](int i) { return i ^ 5; }), {"__shfl_xor_sync(0xffffffffu, x_value, 5)"});
  expect_parts(permuted([](int i) { return 32 + (i + 3) % 32; }),
               {"__shfl_sync(0xffffffffu, h_value, (threadIdx.x + 3) % 32)"});
  expect_parts(permuted([](int) { return 9; }), {"__shfl_sync(0xffffffffu, x_value, 9)"});
  expect_parts(permuted([](int i) { return i < 4 ? i : 32 + i; }),
               {"(0xfffffff0u >> threadIdx.x % 32 & 1u) != 0 ? h_value : x_value"});
  // Each lane gives one of the two, so one shuffle does.
  expect_parts(permuted([](int i) { return i % 2 != 0 ? 32 + (i ^ 1) : i ^ 1; }),
               {"__shfl_xor_sync(0xffffffffu, (0x55555555u >> threadIdx.x % 32 & 1u) != 0 ? h_value : x_value,"});
  expect_parts(permuted([](int i) { return 31 - i + (i == 4 ? 1 : 0); }),
               {"__constant__ const unsigned char permutation_1[32] = {31, 30, 29, 28, 28,",
                "__shfl_sync(0xffffffffu, x_value, permutation_1[threadIdx.x % 32])"});
}

TEST(CudaSource, PeersAreOfTheCluster) {
  const std::string body =
      "    %0 = lane\n    %1 = cluster_rank\n    cluster_barrier\n    %2 = peer_load s[%0] of %1\n"
      "    cluster_barrier\n    %3 = constant i64 0\n    store y[%3] = %2\n";
  const std::string shared = "  shared s: f32[32]\n";
  const std::string text =
      emitted(module_of(body, shared, "k simd_width 32 simd_groups 1 rows_per_threadgroup 1 cluster 4"));
  expect_parts(
      text, {"barrier.cluster.arrive.release.aligned",
             "// Launch: grid = rows, up to a multiple of 4; block = 32; cluster = 4;",
             "const int rank = cluster_rank();", "cluster_barrier();", "= peer(s, rank)[lane];", "cluster_barrier();"});
  const std::string alone = emitted(module_of(body, shared));
  expect_parts(alone, {"__syncthreads();", "= s[lane];", "__syncthreads();"});
}

TEST(CudaSource, ExchangesOfAClusterCountWhatArrives) {
  const std::string body = "    %0 = simd_group\n    %1 = constant f32 2\n    exchange s = %1, %0\n";
  const std::string shared = "  shared s: f32[8]\n  shared t: i32[8]\n";
  const std::string launch = "k simd_width 32 simd_groups 2 rows_per_threadgroup 1 cluster 4";
  const std::string text = emitted(module_of(body, shared, launch));
  expect_parts(text,
               {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32",
                "__shared__ unsigned long long arrived[1];", "begin_exchanges(arrived, 1);", "cluster_has_begun();",
                "expect(&arrived[0], 64);",  // 2 words of 2 warps of 4 blocks
                "give(s + cluster_rank() * 2 + threadIdx.x / 32, __float_as_uint(2.0f), &arrived[0], 4);",
                "give(t + cluster_rank() * 2 + threadIdx.x / 32,", "await(&arrived[0], 0);"});
  // A loop comes to the same barrier again: the turns alternate.
  const std::string turns = emitted(module_of(
      "    %0 = constant i64 0\n    %1 = argument cols\n    %2 = constant i64 1\n    for %3 = %0 to %1 step %2\n"
      "      %4 = constant f32 2\n      exchange s = %4\n    end\n",
      shared, launch));
  expect_parts(turns,
               {"unsigned int turn = 0;", "cluster_has_begun();", "for (", "await(&arrived[0], turn);", "turn ^= 1;"});
  const std::string alone = emitted(module_of(body, shared, "k simd_width 32 simd_groups 2 rows_per_threadgroup 1"));
  expect_parts(alone, {"if (threadIdx.x % 32 == 0)", "s[threadIdx.x / 32] = 2.0f;", "__syncthreads();"});
  expect_without(alone, "arrived");
}

TEST(CudaSource, LoopsAndElse) {
  const std::string text = emitted(module_of(
      "    %0 = constant i64 0\n    %1 = argument cols\n    %2 = constant i64 4\n    %3 = constant f32 1\n"
      "    %4 = mul %1, %2\n    %5 = constant i64 1\n    for %6 = %0 to %4 step %2\n      %7 = lt %6, %2\n      if %7\n"
      "        store y[%6] = %3\n      else\n        store y[%0] = %3\n      end\n    end\n"
      "    for %8 = %0 to %2 step %5\n      store y[%8] = %3\n    end\n"));
  expect_parts(text,
               {"const long long start = cols * 4;", "for (long long i = 0; i < start; i += 4) {", "if (i < 4) {",
                "y[i] = 1.0f;", "} else {", "y[0] = 1.0f;", "#pragma unroll\n  for (long long i = 0; i < 4; ++i) {"});
}

TEST(CudaSource, NamesGiveWay) {
  const std::string text = emitted(module_of(
      "    %0 = constant i64 0\n    %1 = load add[%0]\n    %2 = add %1, %1\n    store y[%0] = %2\n",
      "  buffer add: f32[4] role input 3\n  buffer lane: f32[4] role input 4\n  buffer int: f32[4] role input 5\n"));
  expect_parts(text, {"const float* add_2", "const float* lane", "const float* int_2",
                      "const float add_value = add_2[0];", "y[0] = add(add_value, add_value);"});
}

TEST(CudaSource, AKernelIsNotCalledAsAFunctionOfCuda) {
  for (const char* name : {"max", "exp", "float", "add"}) {
    const lane::Module module =
        module_of("    %0 = lane\n", "", std::string(name) + " simd_width 32 simd_groups 1 rows_per_threadgroup 1");
    EXPECT_EQ(cuda_kernel_name(module.kernels[0]), std::string(name) + "_kernel");
    EXPECT_NE(emitted(module).find(std::string(name) + "_kernel(const float* x"), std::string::npos);
  }
  EXPECT_EQ(cuda_kernel_name(module_of("    %0 = lane\n").kernels[0]), "k");
}

TEST(CudaSource, FastTakesWhatTheDeviceHas) {
  const std::string functions = "\nfunction exp(%0: f32) -> f32\n  %1 = mul %0, %0\n  return %1\n";
  const lane::Module module = module_of(
      "    %0 = constant i64 0\n    %1 = load x[%0]\n    %2 = call exp(%1)\n    %3 = constant f32 1\n    %4 = sqrt %2\n"
      "    %5 = div %3, %4\n    %6 = max %5, %3\n    %7 = mul %6, %6\n    %8 = add %7, %3\n    store y[%0] = %8\n",
      "", "k simd_width 32 simd_groups 1 rows_per_threadgroup 1", functions);
  const std::string text = emitted(module, {.fast = true});
  expect_parts(text, {"max.NaN.f32", "maximum(rsqrtf(fast_exp(x[0])), 1.0f);", "y[0] = larger * larger + 1.0f;"});
  expect_without(text, "float exp(");
  expect_parts(emitted(module), {"float exp(float x) { return mul(x, x); }", "div(1.0f, sqrt(exp(x[0])))"});
}

TEST(CudaSource, AnotherFunctionOfAKnownNameIsCalled) {
  const std::string text =
      emitted(module_of("    %0 = constant i64 0\n    %1 = load x[%0]\n    %2 = call exp_nonpositive(%1)\n"
                        "    %3 = call exp_nonpositive(%2)\n    %4 = call exp_nonpositive(%1)\n    store y[%0] = %3\n  "
                        "  store y[%0] = %4\n",
                        "", "k simd_width 32 simd_groups 1 rows_per_threadgroup 1",
                        "\nfunction exp_nonpositive(%0: f32) -> f32\n  %1 = mul %0, %0\n  return %1\n"));
  expect_parts(text,
               {"float exp_nonpositive(float x) { return mul(x, x); }", "exp_nonpositive(exp_nonpositive(x_value))"});
  expect_without(text, "exp_nonpositive_each");
}

TEST(CudaSource, QuantisingByTheMaximumNeedsNoLimit) {
  const std::string functions =
      "\nfunction merge_max(%0: f32, %1: f32) -> f32\n  %2 = max %0, %1\n  return %2\n"
      "\nfunction quantize(%0: f32, %1: f32) -> i32\n  %2 = div %0, %1\n  %3 = convert %2 to i32\n  return %3\n";
  const auto module_with = [&](const char* divisor, const char* numerator) {
    return module_of(fmt::format("    %0 = constant i64 0\n    %1..%2 = load x[%0] align 2\n"
                                 "    %3 = abs %1\n    %4 = abs %2\n    %5 = call merge_max(%3, %4)\n"
                                 "    %6 = fold_lanes merge_max(%5) first_bit 0 bits 2\n"
                                 "    %7 = constant f32 {}\n    %8 = div %6, %7\n    %9 = call quantize(%1, %8)\n"
                                 "    %10 = call quantize({}, %8)\n    %11 = add %9, %10\n"
                                 "    %12 = convert %11 to f32\n    store y[%0] = %12\n",
                                 divisor, numerator),
                     "", "k simd_width 32 simd_groups 1 rows_per_threadgroup 1", functions);
  };
  const auto text_with = [&](const char* divisor, const char* numerator) {
    return emitted(module_with(divisor, numerator));
  };
  expect_parts(text_with("127", "%2"), {"quantize_each<true>("});
  expect_parts(text_with("127", "%6"), {"quantize_each<false>("});
  expect_parts(text_with("126", "%2"), {"quantize_each<false>("});
  // What is known of a kernel's values says nothing of the next one's, which have the same numbers.
  lane::Module two = module_with("127", "%2");
  two.kernels.push_back(module_with("126", "%2").kernels[0]);
  two.kernels[1].name = "other";
  expect_parts(emitted(two), {"quantize_each<true>(", "quantize_each<false>("});
}

TEST(CudaSource, LaunchOptions) {
  const std::string text =
      emitted(module_of("    %0 = constant i64 0\n    %1 = load x[%0]\n    store y[%0] = %1\n", "",
                        "k simd_width 32 simd_groups 4 rows_per_threadgroup 1 programmatic_launch"));
  expect_parts(text, {"__launch_bounds__(128)", "griddepcontrol.wait", "griddepcontrol.launch_dependents", "x[0]"});
}

TEST(CudaSource, LiteralsAreExact) {
  const std::string text = emitted(module_of(
      "    %0 = constant i64 -2147483648\n    %1 = constant f32 -0\n    store y[%0] = %1\n    %2 = constant f32 inf\n"
      "    store y[%0] = %2\n    %3 = constant f32 1e-45\n    store y[%0] = %3\n    %4 = constant f32 0x7fc00000\n"
      "    store y[%0] = %4\n    %5 = constant f32 16777216\n    store y[%0] = %5\n"));
  expect_parts(text, {"y[-2147483648LL] = -0.0f;", "= __uint_as_float(0x7f800000u);", "= 1e-45f;",
                      "= __uint_as_float(0x7fc00000u);", "= 16777216.0f;"});
}

}  // namespace
}  // namespace lanefold::emit
