// Copies of the host's memory on a device, over a driver without one, whose memory is the host's.
#include "verify/cuda_copies.h"

#include <bit>

#include "runtime/cuda/test_fake_driver.h"

namespace lanefold::testing {
namespace {

using verify::CudaCopies;
using verify::HostBytes;

class CudaCopiesTest : public runtime::fake::FakeDriverTest {
 protected:
  CudaCopies make(const std::vector<HostBytes>& all) {
    auto copies = CudaCopies::make(device(), all);
    EXPECT_TRUE(copies.ok()) << (copies.ok() ? "" : copies.error().text());
    return std::move(copies).value();
  }
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096, std::byte{7});
  std::span<std::byte> bytes(std::size_t at, std::size_t size) { return std::span(memory_).subspan(at, size); }
};

TEST_F(CudaCopiesTest, AreAlignedAndComeBackWhereTheyAreWritten) {
  const CudaCopies copies = make({{bytes(3, 100), false}, {bytes(512, 64), true}, {{}, true}});
  std::byte* const input = copies.on_device(&memory_[3]);
  std::byte* const output = copies.on_device(&memory_[512]);
  EXPECT_NE(input, &memory_[3]);
  EXPECT_EQ(copies.on_device(&memory_[50]), input + 47);
  EXPECT_EQ(copies.on_device(&memory_[200]), &memory_[200]) << "what is not copied stays";
  for (const auto& [there, here] : {std::pair{input, &memory_[3]}, std::pair{output, &memory_[512]}})
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(there) % 16, std::bit_cast<std::uintptr_t>(here) % 16);
  EXPECT_EQ(*input, std::byte{7});
  *input = std::byte{1};
  output[63] = std::byte{2};
  ASSERT_TRUE(copies.bring_back().ok());
  EXPECT_EQ(memory_[3], std::byte{7}) << "an input is not written";
  EXPECT_EQ(memory_[575], std::byte{2});
}

TEST_F(CudaCopiesTest, OverlapsStayOverlaps) {
  const CudaCopies copies = make({{bytes(100, 50), false}, {bytes(120, 100), true}});
  EXPECT_EQ(copies.on_device(&memory_[219]), copies.on_device(&memory_[100]) + 119);
  *copies.on_device(&memory_[100]) = std::byte{9};
  ASSERT_TRUE(copies.bring_back().ok());
  EXPECT_EQ(memory_[100], std::byte{9});
}

TEST_F(CudaCopiesTest, WritesBesideThemAreFound) {
  for (const std::ptrdiff_t at : {std::ptrdiff_t{-1}, std::ptrdiff_t{100}}) {
    const CudaCopies copies = make({{bytes(16, 100), true}});
    copies.on_device(&memory_[16])[at] = std::byte{0};
    const Status back = copies.bring_back();
    ASSERT_FALSE(back.ok());
    EXPECT_EQ(back.error().code, Code::machine_out_of_bounds);
  }
}

}  // namespace
}  // namespace lanefold::testing
