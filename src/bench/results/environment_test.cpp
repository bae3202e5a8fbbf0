#include "bench/results/environment.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/sha256.h"
#include "bench/results/revision.h"
#include "driver/version.h"

namespace lanefold::bench {
namespace {

std::string hash_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return sha256_hex(bytes.data(), bytes.size());
}

bool is_version_after(const std::string& text, const std::string& name) {
  return text.starts_with(name) && text.size() > name.size() && text[name.size()] >= '0' && text[name.size()] <= '9';
}

TEST(ProcessorTime, CountsEachTickOnce) {
  const auto time = processor_time("cpu  10 20 30 40 50 60 70 80 9 1\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 5\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->stolen, 80u);
  EXPECT_EQ(time->all, 360u);  // without the guests' 9 and 1, which are in the first two
  EXPECT_TRUE(processor_time("cpu 1 2 3 4 5 6 7 8"));
}

TEST(ProcessorTime, NoneWhereStolenTimeIsNotCounted) {
  EXPECT_FALSE(processor_time(""));
  EXPECT_FALSE(processor_time("cpu  10 20 30 40 50 60 70\n"));
  EXPECT_FALSE(processor_time("cpu0 1 2 3 4 5 6 7 8 0 0\n"));
  EXPECT_FALSE(processor_time("cpu  10 20 30 -40 50 60 70 80\n"));
  EXPECT_FALSE(processor_time("cpu  10 20 30 40x 50 60 70 80\n"));
  EXPECT_FALSE(processor_time("cpu  99999999999999999999 20 30 40 50 60 70 80\n"));
}

TEST(StolenShare, OfTheTimeBetween) {
  EXPECT_EQ(stolen_share({5, 1000}, {15, 1040}), 0.25);
  EXPECT_EQ(stolen_share({5, 1000}, {5, 1040}), 0.0);
  EXPECT_EQ(stolen_share({5, 1000}, {55, 1040}), 1.0);
  EXPECT_EQ(stolen_share({5, 1000}, {5, 1000}), std::nullopt);
  EXPECT_EQ(stolen_share({5, 1000}, {6, 999}), std::nullopt);
  EXPECT_EQ(stolen_share({5, 1000}, {4, 1001}), std::nullopt);
}

TEST(LibraryPaths, SharedObjectsOnceEach) {
  const std::string maps =
      "55d0-55d1 r--p 00000000 08:01 11 /usr/bin/lanefold\n"
      "55d1-55d2 rw-p 00000000 00:00 0 \n"
      "55d2-55d3 rw-p 00000000 00:00 0 [heap]\n"
      "7f00-7f01 r--p 00000000 08:01 22                         /usr/lib/libm.so.6\n"
      "7f01-7f02 r-xp 00001000 08:01 22                         /usr/lib/libm.so.6\n"
      "7f02-7f03 r--p 00000000 08:01 23                         /opt/my libs/libLLVM-19.so.1 (deleted)\n"
      "7f03-7f04 r--p 00000000 08:01 24                         /usr/lib/locale.sort\n"
      "7f04-7f05 r--p 00000000 08:01 25                         /opt/a.so/data\n"
      "7f05-7f06 r--p 00000000 08:01 26                         /opt/plugin.so\n"
      "7f06-7f07 r--p 00000000 08:01 26                         /memfd:x.so (deleted)";
  EXPECT_EQ(library_paths(maps),
            (std::vector<std::string>{"/memfd:x.so (deleted)", "/opt/my libs/libLLVM-19.so.1 (deleted)",
                                      "/opt/plugin.so", "/usr/lib/libm.so.6"}));
  EXPECT_TRUE(library_paths("").empty());
  EXPECT_TRUE(library_paths("\n\n7f00\n").empty());
}

TEST(Environment, DescribesThisProcess) {
  EnvironmentWatch watch;
  Environment e = watch.begin("cpu", "cpu-avx2");
  EXPECT_EQ(e.device, "cpu");
  EXPECT_EQ(e.target, "cpu-avx2");
  EXPECT_EQ(e.driver, "");
  EXPECT_EQ(e.version, driver::kVersion);
  EXPECT_EQ(e.revision, source_revision());
  EXPECT_EQ(e.dirty, source_dirty());
  EXPECT_FALSE(e.device_name.empty());
  EXPECT_GE(e.processors, 1u);
  EXPECT_TRUE(is_version_after(e.built_with, "g++ ") || is_version_after(e.built_with, "clang++ ")) << e.built_with;
#ifdef LANEFOLD_JIT
  EXPECT_TRUE(is_version_after(e.compiler, "LLVM 19.")) << e.compiler;
#else
  EXPECT_EQ(e.compiler, "");
#endif
  struct utsname names{};
  ASSERT_GE(::uname(&names), 0);
  EXPECT_EQ(e.system, std::string(names.sysname) + " " + names.release + " " + names.machine);  // and no host
  EXPECT_FALSE(e.stolen);
  EXPECT_TRUE(e.load_end.empty());
  watch.end(e);
  EXPECT_EQ(e.load_end.size(), e.load_begin.size());
  if (e.stolen) {
    EXPECT_GE(*e.stolen, 0);
    EXPECT_LE(*e.stolen, 1);
  }
}

TEST(Environment, HashesWhatRuns) {
  if (!std::filesystem::exists("/proc/self/maps")) GTEST_SKIP() << "this system has no /proc";
  const Environment e = EnvironmentWatch().begin("cpu", "cpu-avx2");
  EXPECT_EQ(e.binary.name, std::filesystem::read_symlink("/proc/self/exe").filename());
  EXPECT_EQ(e.binary.sha256, hash_of("/proc/self/exe"));
  ASSERT_FALSE(e.libraries.empty());
  bool has_c_library = false;
  std::string last;
  for (const HashedFile& library : e.libraries) {
    EXPECT_EQ(library.name.find('/'), library.name.npos) << library.name;
    EXPECT_LE(last, library.name);
    last = library.name;
    has_c_library |= library.name.starts_with("libc.") || library.name.starts_with("ld-");
  }
  EXPECT_TRUE(has_c_library);
  EXPECT_GT(e.memory_bytes, std::uint64_t{1} << 20);
}

TEST(Environment, TheLaneMachineCompilesNothing) {
  EXPECT_EQ(EnvironmentWatch().begin("lane-machine", "cuda-sm90").compiler, "");
}

TEST(Revision, IsAHashOrUnknown) {
  const std::string revision(source_revision());
  EXPECT_TRUE(revision.empty() || revision.size() == 40 || revision.size() == 64) << revision;
  EXPECT_EQ(revision.find_first_not_of("0123456789abcdef"), revision.npos) << revision;
  EXPECT_EQ(source_dirty().has_value(), !revision.empty());
}

}  // namespace
}  // namespace lanefold::bench
