// What callers of the facade are told of outputs, options, parameters and storage: in the words of the program's text.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/test_calls.h"

namespace lanefold::api {
namespace {

TEST(Check, TellsOfAnOutputAsTheTextDeclaresIt) {
  const Kernel kernel = Kernel::compile_program(
      "program p(x: f32[2][cols], w: f32[rows, cols])\n store y: f32[2][rows, cols] = x * w\n"
      " store q: q8_0[rows, cols] = w",
      options());
  std::vector<float> x(2 * 64, 2), w(3 * 64), y(2 * 3 * 64);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 32) - 16;
  std::vector<std::byte> q(3 * 2 * 34);
  const std::vector<ConstMatrix> in = {matrix(x.data(), 2, 64), matrix(w.data(), 3, 64)};
  const std::vector<Matrix> out = {matrix(y.data(), 6, 64), Matrix{q.data(), Type::q8_0, 3, 2}};
  kernel.run(in, out, 3, 64);
  CheckReport report = kernel.check(in, out, 3, 64);
  ASSERT_EQ(report.outputs.size(), 2u);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.outputs[0].name, "y");
  EXPECT_EQ(report.outputs[0].elements, 2 * 3 * 64);
  EXPECT_EQ(report.outputs[0].first_place, -1);
  EXPECT_EQ(report.outputs[1].name, "q");
  EXPECT_EQ(report.outputs[1].elements, 3 * 64 + 3 * 2);
  y[3 * 64 + 2 * 64 + 7] += 1;  // place 1, row 2, column 7
  y[3 * 64 + 2 * 64 + 9] += 1;
  q[34 * 3] ^= std::byte{0x40};  // the scale of the second block of row 1
  report = kernel.check(in, out, 3, 64);
  EXPECT_EQ(report.outputs[0].wrong, 2);
  EXPECT_EQ(report.outputs[0].first_place, 1);
  EXPECT_EQ(report.outputs[0].first_row, 2);
  EXPECT_EQ(report.outputs[0].first_column, 7);
  EXPECT_EQ(report.outputs[1].wrong, 1);
  EXPECT_EQ(report.outputs[1].first_row, 1);
  EXPECT_EQ(report.outputs[1].first_column, 32);
  // The same over dimensions that do not join: rows are counted over all of them.
  const ConstTensor in_tensors[] = {dense(static_cast<const float*>(x.data()), {2, 64}),
                                    strided(static_cast<const float*>(w.data()), {1, 3, 64}, {999, 64, 1})};
  const std::int64_t shape[] = {1, 3, 2}, strides[] = {6, 2, 1};
  const Tensor out_tensors[] = {dense(y.data(), {2, 1, 3, 64}), Tensor(q.data(), Type::q8_0, shape, strides)};
  report = kernel.check(in_tensors, out_tensors);
  EXPECT_EQ(report.outputs[0].first_place, 1);
  EXPECT_EQ(report.outputs[0].first_row, 2);
}

TEST(RowAxis, SwitchedOffByAnOption) {
  constexpr const char* kText =
      "program f(x: f32[rows, cols], centre: option = 0)\n"
      " mean = select(centre > 0, fold[rows] sum x / rows, 0)\n store y: f32[rows, cols] = x - mean\n"
      " store m: f32[cols] = mean";
  const float x[4] = {1, 2, 3, 6};
  float y[4], m[2];
  const auto run = [&](const Options& with) {
    const Kernel kernel = Kernel::compile_program(kText, with);
    kernel.run({{"x", matrix(x, 2, 2)}}, {{"y", matrix(y, 2, 2)}, {"m", per_column(m, 2)}});
    const std::vector<ConstMatrix> in = {matrix(x, 2, 2)};
    const std::vector<Matrix> out = {matrix(y, 2, 2), per_column(m, 2)};
    EXPECT_TRUE(kernel.check(in, out, 2, 2).ok());
  };
  run(options());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], x[i]);
  EXPECT_EQ(m[1], 0);
  Options on = options();
  on.fixed = {{"centre", 1}};
  run(on);
  EXPECT_EQ(y[0], -1);
  EXPECT_EQ(m[1], 4);
}

TEST(Parameters, WholeNumbersAreWhole) {
  const float x[2] = {0, 0}, inf = std::numeric_limits<float>::infinity();
  const std::int32_t label[1] = {1};
  float y[1] = {-1};
  const Kernel loss = Kernel::compile_operator("cross_entropy", Type::f32, options());
  const auto run = [&](float ignored) {
    loss.run({{"x", matrix(x, 1, 2)}, {"label", per_row(label, 1)}}, {{"y", per_row(y, 1)}},
             {{"ignore_index", ignored}});
  };
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), inf, 0.5f, 3e9f})
    expect_error(Code::number_invalid, [&] { run(wrong); }, "ignore_index");
  EXPECT_EQ(y[0], -1);
  run(1);
  EXPECT_EQ(y[0], 0);
  Options fixed = options();
  fixed.fixed = {{"ignore_index", inf}};
  expect_error(
      Code::number_invalid, [&] { Kernel::compile_operator("cross_entropy", Type::f32, fixed); }, "ignore_index");
}

TEST(Storage, OfBlocksIsForWeights) {
  try {
    Kernel::compile_operator("matvec", Type::q8_0, options());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.name(), code_name(Code::operator_storage));
    EXPECT_NE(error.hint().find("f32, f16, bf16, e4m3, e5m2 with weights in q8_0"), std::string::npos) << error.hint();
  }
  try {
    Kernel::compile_operator("sum", Type::q8_0, options());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.name(), code_name(Code::operator_storage));
    EXPECT_EQ(error.hint().find("weights"), std::string::npos) << error.hint();
  }
}

}  // namespace
}  // namespace lanefold::api
