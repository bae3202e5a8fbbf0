#include "api/launches.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "api/test_calls.h"
#include "kernels/registry.h"

namespace lanefold::api {
namespace {

const ir::Program& norm_program() {
  static const ir::Program program = *kernels::build(*kernels::find("rms_norm"), ElementType::f32, {});
  return program;
}

struct Counts {
  std::int64_t rows, launches;
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// How a call of rms_norm over x and y runs, which have the same shape.
Counts counts(const ConstTensor& x, const Tensor& y) {
  static float weight[4096];
  const std::int64_t cols = x.shape[static_cast<std::size_t>(x.rank) - 1];
  const ConstTensor inputs[] = {x, dense(weight, {cols})};
  const ConstTensor outputs[] = {y};
  const Launches launches(norm_program(), inputs, outputs);
  return {launches.rows(), launches.count()};
}

TEST(Launches, LeadingDimensionsAreJoinedWhereStridesAllowIt) {
  static float x[20000], y[20000];
  EXPECT_EQ(counts(dense(x, {8}), dense(y, {8})), (Counts{1, 1}));
  EXPECT_EQ(counts(dense(x, {3, 8}), dense(y, {3, 8})), (Counts{3, 1}));
  EXPECT_EQ(counts(dense(x, {2, 3, 5, 8}), dense(y, {2, 3, 5, 8})), (Counts{30, 1}));
  // Rows with gaps are still evenly apart.
  EXPECT_EQ(counts(strided(x, {2, 3, 8}, {60, 20, 1}), dense(y, {2, 3, 8})), (Counts{6, 1}));
  // The heads of a packed tensor are not: the longer of both dimensions is the rows of a launch.
  EXPECT_EQ(counts(strided(x, {7, 3, 8}, {40, 8, 1}), dense(y, {7, 3, 8})), (Counts{7, 3}));
  EXPECT_EQ(counts(strided(x, {3, 7, 8}, {80, 8, 1}), dense(y, {3, 7, 8})), (Counts{7, 3}));
  // The first two dimensions join, the last one does not.
  EXPECT_EQ(counts(strided(x, {2, 3, 5, 8}, {300, 100, 8, 1}), dense(y, {2, 3, 5, 8})), (Counts{6, 5}));
  EXPECT_EQ(counts(dense(x, {2, 3, 5, 8}), strided(y, {2, 3, 5, 8}, {300, 100, 8, 1})), (Counts{6, 5}));
  // Nothing joins.
  EXPECT_EQ(counts(strided(x, {2, 3, 5, 8}, {1000, 100, 8, 1}), dense(y, {2, 3, 5, 8})), (Counts{5, 6}));
  // The order of rows does not matter, so transposed leading dimensions join too.
  EXPECT_EQ(counts(strided(x, {3, 2, 8}, {8, 24, 1}), strided(y, {3, 2, 8}, {8, 24, 1})), (Counts{6, 1}));
  // Dimensions of one element have no strides that matter.
  EXPECT_EQ(counts(strided(x, {1, 3, 1, 8}, {999, 8, -7, 1}), dense(y, {1, 3, 1, 8})), (Counts{3, 1}));
  // One row for all: strides of 0 join.
  EXPECT_EQ(counts(strided(x, {2, 3, 8}, {0, 0, 1}), dense(y, {2, 3, 8})), (Counts{6, 1}));
  // No rows at all.
  EXPECT_EQ(counts(dense(x, {2, 0, 5, 8}), dense(y, {2, 0, 5, 8})), (Counts{0, 1}));
}

TEST(Launches, RowsAreCountedOverAllLeadingDimensions) {
  static float x[400], y[400], weight[8];
  const ConstTensor inputs[] = {strided(x, {3, 7, 8}, {80, 8, 1}), dense(weight, {8})};
  const ConstTensor outputs[] = {dense(y, {3, 7, 8})};
  Launches launches(norm_program(), inputs, outputs);
  ASSERT_EQ(launches.count(), 3);
  for (std::int64_t number = 0; number < 3; ++number) {
    launches.go_to(number);
    for (std::int64_t row = 0; row < 7; ++row) EXPECT_EQ(launches.row_of_call(row), number * 7 + row);
    EXPECT_EQ(launches.inputs()[0].data, reinterpret_cast<std::byte*>(x + 80 * number));
    EXPECT_EQ(launches.outputs()[0].data, reinterpret_cast<std::byte*>(y + 56 * number));
    EXPECT_EQ(launches.inputs()[1].data, reinterpret_cast<std::byte*>(weight));
  }
  const ConstTensor transposed[] = {strided(x, {3, 2, 8}, {8, 24, 1}), dense(weight, {8})};
  const ConstTensor into[] = {strided(y, {3, 2, 8}, {8, 24, 1})};
  const Launches one(norm_program(), transposed, into);
  for (std::int64_t row = 0; row < 6; ++row) EXPECT_EQ(one.row_of_call(row), row % 3 * 2 + row / 3);
}

Error error_of(std::span<const ConstTensor> inputs, std::span<const Tensor> written) {
  const std::vector<ConstTensor> outputs(written.begin(), written.end());
  try {
    const Launches launches(norm_program(), inputs, outputs);
  } catch (const Error& error) {
    return error;
  }
  return Error("", "", "none", "", "");
}

std::string fault(const ConstTensor& x, const ConstTensor& weight, const Tensor& y) {
  const ConstTensor inputs[] = {x, weight};
  return error_of(inputs, std::span(&y, 1)).name();
}

TEST(Launches, ShapesThatDoNotFitAreRefused) {
  static float x[4000], y[4000], w[64];
  const ConstTensor weight = dense(w, {8});
  const std::string_view mismatch = code_name(Code::call_shape_mismatch);
  EXPECT_EQ(fault(dense(x, {2, 3, 8}), weight, dense(y, {2, 3, 8})), "none");
  EXPECT_EQ(fault(dense(x, {2, 3, 8}), dense(w, {1, 8}), dense(y, {2, 3, 8})), "none");
  EXPECT_EQ(fault(dense(x, {2, 3, 8}), weight, dense(y, {3, 2, 8})), mismatch);
  EXPECT_EQ(fault(dense(x, {2, 3, 8}), weight, dense(y, {6, 8})), mismatch);
  EXPECT_EQ(fault(dense(x, {2, 3, 8}), weight, dense(y, {2, 3, 7})), mismatch);
  EXPECT_EQ(fault(dense(x, {2, 3, 8}), dense(w, {7}), dense(y, {2, 3, 8})), mismatch);
  EXPECT_EQ(fault(dense(x, {2, 3, 8}), dense(w, {2, 8}), dense(y, {2, 3, 8})), mismatch);
  EXPECT_EQ(fault(ConstTensor(), weight, dense(y, {2, 3, 8})), mismatch);
  ConstTensor wrong = dense(x, {2, 3, 8});
  wrong.rank = 5;
  EXPECT_EQ(fault(wrong, weight, dense(y, {2, 3, 8})), mismatch);
  wrong.rank = -1;
  EXPECT_EQ(fault(wrong, weight, dense(y, {2, 3, 8})), mismatch);
  wrong = dense(x, {2, 3, 8});
  wrong.shape[1] = -3;
  EXPECT_EQ(fault(wrong, weight, dense(y, {2, 3, 8})), mismatch);
  const std::int64_t many = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_EQ(fault(strided(x, {many, 3, 8}, {0, 0, 1}), weight, strided(y, {many, 3, 8}, {0, 0, 1})), mismatch);
  expect_error(Code::call_shape_mismatch, [] { (void)dense(x, {1, 1, 1, 1, 1}); });
  expect_error(Code::call_shape_mismatch, [] { (void)strided(x, {2, 3}, {1}); });
  const ConstTensor one[] = {dense(x, {2, 8})};
  EXPECT_EQ(error_of(one, {}).name(), code_name(Code::call_count_mismatch));
}

TEST(Launches, OverlapsBetweenLaunchesAreRefused) {
  static float m[4000], other[4000], w[64];
  const ConstTensor weight = dense(w, {8});
  const auto x = [](std::int64_t offset, std::int64_t outer) { return strided(m + offset, {3, 5, 8}, {outer, 8, 1}); };
  // In place, and the heads beside each other in one packed tensor.
  EXPECT_EQ(fault(x(0, 100), weight, x(0, 100)), "none");
  EXPECT_EQ(fault(x(0, 100), weight, x(40, 100)), "none");
  EXPECT_EQ(fault(x(0, 100), weight, x(60, 100)), "none");
  // The second token of one is where the first one of the other is written.
  EXPECT_EQ(fault(x(100, 100), weight, x(0, 100)), code_name(Code::output_overlaps_input));
  EXPECT_EQ(fault(x(0, 100), weight, x(0, 120)), code_name(Code::output_overlaps_input));
  EXPECT_EQ(fault(x(0, 100), weight, x(30, 100)), code_name(Code::output_overlaps_input));
  EXPECT_EQ(fault(dense(other, {3, 5, 8}), strided(m + 200, {8}, {1}), x(0, 100)),
            code_name(Code::output_overlaps_input));
  // Outputs that write an element twice: tokens closer than their heads reach.
  EXPECT_EQ(fault(dense(other, {3, 5, 8}), weight, x(0, 39)), code_name(Code::output_rows_overlap));
  EXPECT_EQ(fault(dense(other, {3, 5, 8}), weight, x(0, 0)), code_name(Code::output_rows_overlap));
  // Interleaved columns never meet.
  EXPECT_EQ(fault(strided(m, {3, 5, 8}, {200, 16, 2}), weight, strided(m + 1, {3, 5, 8}, {200, 16, 2})), "none");
}

TEST(Launches, HeadsOfTwoOutputsMayTakeTurnsInPaddedTokens) {
  static float x[3 * 5 * 8], m[3 * 100];
  for (std::size_t i = 0; i < std::size(x); ++i) x[i] = static_cast<float>(i);
  const Kernel kernel = Kernel::compile_program(
      "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = x\n  store z: f32[rows, cols] = x + x\n", options());
  const ConstTensor in[] = {dense(static_cast<const float*>(x), {3, 5, 8})};
  // A token is five pairs of heads and 20 elements of padding.
  const Tensor out[] = {strided(m, {3, 5, 8}, {100, 16, 1}), strided(m + 8, {3, 5, 8}, {100, 16, 1})};
  kernel.run(in, out);
  for (std::size_t token = 0; token < 3; ++token)
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t head = i / 16, col = i % 8;
      const float value = i < 80 ? x[token * 40 + head * 8 + col] : 0;
      ASSERT_EQ(m[token * 100 + i], i % 16 < 8 ? value : 2 * value) << token << " " << i;
    }
}

TEST(Launches, TwoOutputsOfDifferentLaunchesMayNotMeet) {
  static float x[4000], m[4000];
  const Kernel kernel = Kernel::compile_program(
      "program p(x: f32[rows, cols])\n  store y: f32[rows, cols] = x\n  store z: f32[rows, cols] = x + x\n", options());
  const ConstTensor in[] = {dense(x, {3, 5, 8})};
  const auto at = [](std::int64_t offset) { return strided(m + offset, {3, 5, 8}, {100, 8, 1}); };
  const Tensor apart[] = {at(0), at(40)}, meeting[] = {at(0), at(100)};
  kernel.run(in, apart);
  std::memset(m, 0, sizeof m);
  expect_error(Code::outputs_overlap, [&] { kernel.run(in, meeting); }, "output z");
  for (const float value : m) ASSERT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace lanefold::api
