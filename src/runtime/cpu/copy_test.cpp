#include "runtime/cpu/copy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace lanefold::runtime {
namespace {

TEST(CopyTest, CopiesEveryByteAndNoMore) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto make = [] {
    return std::unique_ptr<std::byte, decltype(&std::free)>(static_cast<std::byte*>(std::aligned_alloc(64, kMost + 64)),
                                                            &std::free);
  };
  const auto source = make(), target = make();
  for (std::int64_t i = 0; i < kMost + 64; ++i) source.get()[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const unsigned threads : {1u, 2u}) {
    Executor executor(threads);
    for (const CopyStores stores : {CopyStores::cached, CopyStores::streaming})
      for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{64}, std::int64_t{4096}, std::int64_t{4160},
                                       std::int64_t{12352}, kMost - 64, kMost}) {
        std::memset(target.get(), 0xa5, kMost + 64);
        copy(target.get(), source.get(), bytes, stores, executor);
        EXPECT_EQ(std::memcmp(target.get(), source.get(), static_cast<std::size_t>(bytes)), 0) << bytes;
        for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(target.get()[bytes + i], std::byte{0xa5}) << bytes;
      }
  }
}

}  // namespace
}  // namespace lanefold::runtime
