#include "api/arguments.h"

#include <limits>

#include <gtest/gtest.h>

#include "api/test_calls.h"

namespace lanefold::api {
namespace {

TEST(FacadeArguments, FaultsOfCallsByName) {
  SmallNorm small;
  const NamedInput x = {"x", matrix(small.x, 2, 8)}, weight = {"weight", per_column(small.weight, 8)};
  const NamedOutput y = {"y", matrix(small.y, 2, 8)};
  const Kernel& kernel = small.kernel;
  expect_error(Code::unknown_input, [&] { kernel.run({x, {"gain", weight.tensor}}, {y}); }, "input gain");
  expect_error(Code::unknown_output, [&] { kernel.run({x, weight}, {{"out", y.tensor}}); }, "output out");
  expect_error(Code::unknown_parameter, [&] { kernel.run({x, weight}, {y}, {{"epsilon", 1}}); }, "parameter epsilon");
  expect_error(Code::assignment_repeated, [&] { kernel.run({x, weight, x}, {y}); }, "input x");
  expect_error(Code::assignment_repeated, [&] { kernel.run({x, weight}, {y, y}); }, "output y");
  expect_error(Code::input_missing, [&] { kernel.run({x}, {y}); }, "input weight");
  expect_error(Code::call_count_mismatch, [&] { kernel.run({x, weight}, {}); }, "output y");
  const Kernel blocks =
      Kernel::compile_program("program p(d: f32[rows, cols/4])\n  store y: f32[rows, cols] = d + 0.0\n", options());
  const float one = 1;
  expect_error(
      Code::call_shape_mismatch,
      [&] {
        const ConstMatrix huge = {.data = &one, .rows = 1, .cols = std::numeric_limits<std::int64_t>::max() / 2};
        blocks.run({{"d", huge}}, {y});
      },
      "input d");
  const Kernel fixed = Kernel::compile_program("program p(b: f32[rows])\n  store y: f32[rows] = b\n", options());
  expect_error(Code::shape_unknown, [&] { fixed.run({{"b", per_row(small.x, 2)}}, {{"y", per_row(small.y, 2)}}); });
  for (const float value : small.y) EXPECT_EQ(value, 0.0f);
}

TEST(FacadeArguments, FaultsOfPositionalCalls) {
  SmallNorm small;
  const std::vector<ConstMatrix> good = {matrix(small.x, 2, 8), per_column(small.weight, 8)};
  const std::vector<Matrix> out = {matrix(small.y, 2, 8)};
  const auto run = [&](const std::vector<ConstMatrix>& inputs, const std::vector<Matrix>& outputs, std::int64_t rows,
                       std::int64_t cols, const std::vector<float>& parameters = {}) {
    small.kernel.run(inputs, outputs, rows, cols, parameters);
  };
  expect_error(Code::call_count_mismatch, [&] { run({good[0]}, out, 2, 8); });
  expect_error(Code::call_count_mismatch, [&] { run(good, {}, 2, 8); });
  expect_error(Code::call_count_mismatch, [&] { run(good, out, 2, 8, {1e-6f}); });
  expect_error(Code::call_shape_mismatch, [&] { run(good, out, 2, 7); });
  expect_error(Code::call_shape_mismatch, [&] { run(good, out, -2, 8); });
  expect_error(Code::call_shape_mismatch, [&] { run({good[0], per_column(small.weight, 7)}, out, 2, 8); });
  expect_error(Code::call_type_mismatch, [&] { run({{small.x, Type::f16, 2, 8}, good[1]}, out, 2, 8); }, "input x");
  expect_error(Code::call_type_mismatch, [&] { run({{small.x, static_cast<Type>(77), 2, 8}, good[1]}, out, 2, 8); });
  expect_error(Code::call_data_missing, [&] { run({{nullptr, Type::f32, 2, 8}, good[1]}, out, 2, 8); }, "input x");
  expect_error(Code::output_overlaps_input,
               [&] { run({matrix(small.x, 1, 8), good[1]}, {{small.x + 1, Type::f32, 1, 8, 8}}, 1, 8); });
  expect_error(Code::output_rows_overlap, [&] { run(good, {{small.y, Type::f32, 2, 8, 4}}, 2, 8); });
  for (const float value : small.y) EXPECT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace lanefold::api
