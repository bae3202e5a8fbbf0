#include "target/target.h"

#include <bit>
#include <set>

#include <gtest/gtest.h>

namespace lanefold::target {
namespace {

TEST(Target, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Target& t : targets()) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
    const Result<Target> found = find(t.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->simd_width, t.simd_width);
  }
  for (const char* name : {"cpu-sse", "cpu-avx2", "cpu-avx512", "cpu-neon", "metal-m1max", "cuda-sm80", "cuda-sm90",
                           "cuda-sm100", "generic-4", "generic-64"}) {
    EXPECT_TRUE(names.count(name)) << name;
  }
}

TEST(Target, FactsAreConsistent) {
  for (const Target& t : targets()) {
    EXPECT_TRUE(std::has_single_bit(t.simd_width)) << t.name;
    EXPECT_GE(t.simd_width, 4u);
    EXPECT_LE(t.simd_width, 64u);
    EXPECT_LE(t.planned_threads, t.max_threads) << t.name;
    EXPECT_EQ(t.planned_threads % t.simd_width, 0u) << t.name;
    EXPECT_EQ(t.family == Family::cpu, !t.llvm_cpu.empty()) << t.name;
  }
  EXPECT_EQ(find("metal-m1max")->planned_threads, 256u);
  EXPECT_EQ(find("metal-m1max")->threadgroup_bytes, 32u * 1024);
}

TEST(Target, UnknownNameListsTheNames) {
  const Result<Target> found = find("cpu-avx1024");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::unknown_target);
  EXPECT_NE(found.error().message.find("cpu-avx1024"), std::string::npos);
  EXPECT_NE(found.error().hint.find("cpu-avx512"), std::string::npos);
}

TEST(Target, HostIsACpuOfTheTable) {
  EXPECT_EQ(host().family, Family::cpu);
  EXPECT_TRUE(find(host().name).ok());
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) {
    EXPECT_EQ(host().name, "cpu-sse");
  } else {
    EXPECT_NE(host().name, "cpu-neon");
  }
#endif
}

}  // namespace
}  // namespace lanefold::target
