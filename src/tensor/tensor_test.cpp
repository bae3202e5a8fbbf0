#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <limits>

#include "tensor/test_files.h"

namespace lanefold::tensor {
namespace {

TEST(Tensor, MakeTensorIsZeroedAlignedAndContiguous) {
  const Tensor tensor = make_tensor({3, 5}, ElementType::bf16);
  EXPECT_EQ(tensor.strides, (std::vector<std::int64_t>{5, 1}));
  EXPECT_EQ(tensor.element_count(), 15);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data) % 64, 0u);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(tensor.data[i], std::byte{0});
  EXPECT_EQ(make_tensor({}, ElementType::f32).element_count(), 1);
  EXPECT_EQ(make_tensor({0, 7}, ElementType::f32).element_count(), 0);
  EXPECT_THROW(make_tensor({-1}, ElementType::f32), InternalError);
}

TEST(Tensor, ByteCountRefusesWhatCannotBeAddressed) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(*byte_count(std::vector<std::int64_t>{2, 3}, ElementType::i64), 48);
  EXPECT_EQ(*byte_count(std::vector<std::int64_t>{}, ElementType::f32), 4);
  EXPECT_EQ(*byte_count(std::vector<std::int64_t>{kHuge, 0}, ElementType::i8), 0);
  EXPECT_EQ(*byte_count(std::vector<std::int64_t>{kHuge}, ElementType::i8), kHuge);
  expect_code(byte_count(std::vector<std::int64_t>{kHuge}, ElementType::f32), Code::shape_overflow);
  expect_code(byte_count(std::vector<std::int64_t>{kHuge, 2}, ElementType::i8), Code::shape_overflow);
  expect_code(byte_count(std::vector<std::int64_t>{kHuge, 0, kHuge}, ElementType::i8), Code::shape_overflow);
  expect_code(byte_count(std::vector<std::int64_t>{-3}, ElementType::i8), Code::shape_overflow);
  expect_code(byte_count(std::vector<std::int64_t>(33, 1), ElementType::i8), Code::shape_overflow);
}

TEST(Tensor, ContiguousBytesGathersAnyStrides) {
  Tensor tensor = counting_tensor({6}, ElementType::i8);
  tensor.shape = {2, 3};
  tensor.strides = {1, 2};  // column-major
  EXPECT_FALSE(tensor.is_contiguous());
  EXPECT_EQ(row_major(tensor), "\1\3\5\2\4\6");
  tensor.strides = {0, 1};
  EXPECT_EQ(row_major(tensor), "\1\2\3\1\2\3");
  tensor.data += 5;
  tensor.strides = {-3, -1};
  EXPECT_EQ(row_major(tensor), "\6\5\4\3\2\1");
  tensor.shape = {1, 2, 1};
  tensor.strides = {9, -2, 7};
  EXPECT_EQ(row_major(tensor), "\6\4");
  tensor.shape = {3, 0};
  tensor.strides = {1, 1};
  EXPECT_EQ(row_major(tensor), "");
}

TEST(Tensor, AlignedCopiesOnlyWhatIsMisaligned) {
  Tensor tensor = counting_tensor({2, 2}, ElementType::i32);
  EXPECT_EQ(aligned(tensor).data, tensor.data);
  Tensor odd = tensor;
  odd.shape = {3};
  odd.strides = {1};
  odd.data += 1;
  const Tensor copy = aligned(odd);
  EXPECT_NE(copy.data, odd.data);
  EXPECT_EQ(row_major(copy), row_major(odd));
}

TEST(Tensor, MatrixViewJoinsLeadingDimensions) {
  const Tensor cube = make_tensor({2, 3, 4}, ElementType::f32);
  const View view = *matrix_view(cube);
  EXPECT_EQ(view.rows, 6);
  EXPECT_EQ(view.cols, 4);
  EXPECT_EQ(view.row_stride, 4);
  EXPECT_EQ(view.column_stride, 1);
  EXPECT_EQ(view.at(5, 3), cube.data + 23 * 4);

  const View vector = *matrix_view(make_tensor({7}, ElementType::f32));
  EXPECT_EQ(vector.rows, 1);
  EXPECT_EQ(vector.cols, 7);
  EXPECT_EQ(vector.row_stride, 0);

  const View scalar = *matrix_view(make_tensor({}, ElementType::f32));
  EXPECT_EQ(scalar.rows * scalar.cols, 1);
  EXPECT_EQ(matrix_view(make_tensor({0, 5}, ElementType::f32))->rows, 0);

  Tensor columns = make_tensor({2, 3}, ElementType::f32);
  columns.strides = contiguous_strides(columns.shape, true);
  EXPECT_EQ(matrix_view(columns)->row_stride, 1);
  EXPECT_EQ(matrix_view(columns)->column_stride, 2);
}

TEST(Tensor, MatrixViewRefusesUnevenRows) {
  Tensor cube = make_tensor({2, 3, 4}, ElementType::f32);
  cube.strides = contiguous_strides(cube.shape, true);
  expect_code(matrix_view(cube), Code::shape_not_rows);
  cube.shape = {2, 1, 4};
  EXPECT_TRUE(matrix_view(cube).ok());
}

}  // namespace
}  // namespace lanefold::tensor
