#include "verify/matrix.h"

#include <bit>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/load_store.h"

namespace lanefold::verify {
namespace {

TEST(Matrix, BeginsAsPoisonBetweenSentinels) {
  for (const MatrixLayout layout :
       {MatrixLayout{}, MatrixLayout{.row_gap = 3}, MatrixLayout{.row_gap = 1, .offset = 5, .column_stride = 2}}) {
    const Matrix m(ElementType::f16, 3, 4, layout);
    EXPECT_TRUE(m.sentinels_intact());
    EXPECT_EQ(m.view().column_stride, layout.column_stride);
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(m.view().data) % 64, static_cast<std::uintptr_t>(2 * layout.offset));
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t c = 0; c < 4; ++c)
        EXPECT_TRUE(std::isnan(load_element_f64(m.view().at(r, c), ElementType::f16)));
  }
  EXPECT_EQ(load_element_integer(Matrix(ElementType::i8, 1, 1).view().data, ElementType::i8), -1);
}

TEST(Matrix, SentinelsCatchEveryWriteBeyond) {
  const MatrixLayout layout{.row_gap = 1, .offset = 3, .column_stride = 2};
  const auto caught = [&](auto&& write) {
    const Matrix m(ElementType::f32, 2, 3, layout);
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t c = 0; c < 3; ++c) store_element(m.view().at(r, c), ElementType::f32, 1.0f);
    EXPECT_TRUE(m.sentinels_intact()) << "elements are no sentinels";
    write(m.view());
    return !m.sentinels_intact();
  };
  EXPECT_TRUE(caught([](const View& v) { v.data[-1] = std::byte{0}; }));
  EXPECT_TRUE(caught([](const View& v) { *v.at(0, -1) = std::byte{1}; }));
  EXPECT_TRUE(caught([](const View& v) { v.at(0, 0)[4] = std::byte{1}; })) << "between two columns";
  EXPECT_TRUE(caught([](const View& v) { v.at(1, 0)[-1] = std::byte{1}; })) << "between two rows";
  EXPECT_TRUE(caught([](const View& v) { v.at(1, 2)[4] = std::byte{1}; })) << "past the last element";
  EXPECT_TRUE(caught([](const View& v) { v.at(1, 2)[100] = std::byte{1}; }));
  EXPECT_FALSE(caught([](const View&) {}));
}

TEST(Matrix, BytesComeRowByRowWithoutGaps) {
  for (const std::int64_t stride : {1, 3}) {
    Matrix m(ElementType::i32, 2, 3, {.row_gap = 2, .offset = 1, .column_stride = stride});
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t c = 0; c < 3; ++c) store_integer(m.view().at(r, c), ElementType::i32, 10 * r + c);
    const std::vector<std::byte> bytes = m.bytes();
    std::int32_t values[6];
    ASSERT_EQ(bytes.size(), sizeof values);
    std::memcpy(values, bytes.data(), sizeof values);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(values[i], i / 3 * 10 + i % 3);
    m.poison();
    EXPECT_EQ(m.bytes(), std::vector<std::byte>(24, std::byte{0xff}));
  }
}

TEST(Matrix, MayBeEmpty) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 0}, {0, 0}}) {
    const Matrix m(ElementType::f32, rows, cols);
    EXPECT_TRUE(m.bytes().empty());
    EXPECT_TRUE(m.sentinels_intact());
  }
}

}  // namespace
}  // namespace lanefold::verify
