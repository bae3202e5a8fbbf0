#include "runtime/cpu/executor.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "base/float_environment.h"

namespace lanefold::runtime {
namespace {

/// What an entry is told by its argument words.
struct Record {
  std::vector<std::atomic<int>> visits;  ///< of each threadgroup
  std::atomic<int> bad_memory{0};
  std::size_t shared_bytes = 0;
  explicit Record(std::size_t threadgroups) : visits(threadgroups) {}
};

void count_visits(const lane::ArgumentWord* arguments, std::int64_t begin, std::int64_t end, std::byte* shared) {
  auto& record = *static_cast<Record*>(arguments[0].pointer);
  if (record.shared_bytes > 0) {
    if (reinterpret_cast<std::uintptr_t>(shared) % 64 != 0) ++record.bad_memory;
    std::memset(shared, static_cast<int>(begin), record.shared_bytes);
  }
  for (std::int64_t i = begin; i < end; ++i) ++record.visits[static_cast<std::size_t>(i)];
  // Another thread's threadgroup memory would show here.
  for (std::size_t i = 0; i < record.shared_bytes; ++i)
    if (shared[i] != static_cast<std::byte>(begin)) {
      ++record.bad_memory;
      return;
    }
}

void expect_each_once(Executor& executor, std::int64_t threadgroups, std::int64_t bytes, std::uint32_t shared_bytes) {
  Record record(static_cast<std::size_t>(threadgroups));
  record.shared_bytes = shared_bytes;
  const lane::ArgumentWord words[] = {{.pointer = &record}};
  executor.run({.entry = count_visits,
                .arguments = words,
                .threadgroups = threadgroups,
                .shared_bytes = shared_bytes,
                .bytes = bytes});
  for (const auto& visits : record.visits) ASSERT_EQ(visits, 1);
  ASSERT_EQ(record.bad_memory, 0);
}

TEST(Executor, RunsEachThreadgroupOnce) {
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    Executor executor(threads);
    EXPECT_EQ(executor.threads(), threads);
    for (const std::int64_t threadgroups : {0, 1, 2, 3, 7, 31, 32, 33, 1000})
      for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 30})
        for (const std::uint32_t shared : {0u, 64u, 100000u}) expect_each_once(executor, threadgroups, bytes, shared);
  }
}

TEST(Executor, ManyLaunchesInARow) {
  Executor executor(4);
  for (int i = 0; i < 3000; ++i)
    expect_each_once(executor, i % 50, std::int64_t{1} << 30, static_cast<std::uint32_t>(i % 3) * 64);
}

TEST(Executor, CallsFromSeveralThreads) {
  Executor executor(3);
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) expect_each_once(executor, 40, std::int64_t{1} << 30, 256);
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(Executor, ExecutorsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    Executor executor(3);
    expect_each_once(executor, 20, std::int64_t{1} << 30, 0);
  }
}

TEST(Executor, ZeroThreadsMeansOnePerProcessor) {
  EXPECT_EQ(Executor(0).threads(), std::max(1u, std::thread::hardware_concurrency()));
}

#if defined(__SSE2__)

constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040, kRoundUp = 0x4000;

/// Writes the environment it runs in, and what it makes of a subnormal and of a rounding.
void look(const lane::ArgumentWord* arguments, std::int64_t begin, std::int64_t end, std::byte*) {
  auto* words = static_cast<unsigned*>(arguments[0].pointer);
  auto* sums = static_cast<float*>(arguments[1].pointer);
  for (std::int64_t i = begin; i < end; ++i) {
    words[i] = _mm_getcsr() & ~0x3fu;  // without the flags of what has happened
    volatile float small = 0x1p-130f, one = 1.0f, tiny = 0x1p-30f;
    sums[2 * i] = small * 0.5f;
    sums[2 * i + 1] = one + tiny;
  }
}

TEST(Executor, TheCallersFloatEnvironmentChangesNothingAndComesBack) {
  const unsigned before = _mm_getcsr();
  for (const unsigned threads : {1u, 3u})
    for (const unsigned mode :
         {kFlushToZero | kDenormalsAreZero, kRoundUp, kFlushToZero | kDenormalsAreZero | kRoundUp}) {
      std::vector<unsigned> words(16);
      std::vector<float> sums(32);
      const lane::ArgumentWord arguments[] = {{.pointer = words.data()}, {.pointer = sums.data()}};
      Executor executor(threads);
      _mm_setcsr((before & ~0x3fu) | mode);
      executor.run({.entry = look,
                    .arguments = arguments,
                    .threadgroups = 16,
                    .bytes = std::int64_t{1} << 30,
                    .streaming = true});
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_EQ(after & ~0x3fu, (before & ~0x3fu) | mode);
      for (const unsigned word : words) EXPECT_EQ(word, 0x1f80u);
      for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(sums[2 * i]), std::bit_cast<std::uint32_t>(0x1p-131f));
        EXPECT_EQ(sums[2 * i + 1], 1.0f);
      }
    }
}

#endif

}  // namespace
}  // namespace lanefold::runtime
