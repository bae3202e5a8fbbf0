// Inner axes, quantised blocks, options and folds along rows, as callers of the facade see them.
#include "api/signature.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "api/test_calls.h"
#include "base/load_store.h"

namespace lanefold::api {
namespace {

constexpr std::int64_t kRows = 6, kCols = 96, kTokens = 3;

Options for_tokens(std::optional<Type> weights = {}) {
  Options result = options();
  result.weights = weights;
  result.tokens = kTokens;
  return result;
}

/// Weights in blocks, what they stand for, and tokens.
struct Weights {
  Weights() {
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t c = 0; c < kCols; ++c) {
        std::byte* block = blocks.data() + (r * (kCols / 32) + c / 32) * 34;
        const float scale = 0.25f * static_cast<float>(c / 32 + 1);
        const auto code = static_cast<std::int64_t>((r * 7 + c * 3) % 21) - 10;
        store_element(block, ElementType::f16, scale);
        store_integer(block + 2 + c % 32, ElementType::i8, code);
        plain[static_cast<std::size_t>(r * kCols + c)] = scale * static_cast<float>(code);
      }
    for (std::int64_t k = 0; k < kTokens; ++k)
      for (std::int64_t c = 0; c < kCols; ++c)
        x[static_cast<std::size_t>(k * kCols + c)] = static_cast<float>((k * 5 + c) % 9) - 4;
  }
  /// The product, exact: all numbers are small multiples of ¼.
  float expected(std::int64_t token, std::int64_t row) const {
    float sum = 0;
    for (std::int64_t c = 0; c < kCols; ++c)
      sum += plain[static_cast<std::size_t>(row * kCols + c)] * x[static_cast<std::size_t>(token * kCols + c)];
    return sum;
  }
  ConstMatrix quantised() const { return {blocks.data(), Type::q8_0, kRows, kCols / 32}; }

  std::vector<std::byte> blocks = std::vector<std::byte>(kRows * kCols / 32 * 34);
  std::vector<float> plain = std::vector<float>(kRows * kCols), x = std::vector<float>(kTokens * kCols);
  std::vector<float> y = std::vector<float>(kTokens * kRows, -1);
};

TEST(Signature, PortsAreTheDeclarations) {
  const Kernel kernel = Kernel::compile_operator("matvec", Type::f32, for_tokens(Type::q8_0));
  ASSERT_EQ(kernel.inputs().size(), 2u);
  EXPECT_EQ(kernel.inputs()[0].name, "w");
  EXPECT_EQ(kernel.inputs()[0].type, Type::q8_0);
  EXPECT_EQ(kernel.inputs()[0].kind, Kind::block);
  EXPECT_EQ(kernel.inputs()[0].block, 32);
  EXPECT_EQ(kernel.inputs()[1].name, "x");
  EXPECT_EQ(kernel.inputs()[1].kind, Kind::column);
  EXPECT_EQ(kernel.inputs()[1].inner, kTokens);
  ASSERT_EQ(kernel.outputs().size(), 1u);
  EXPECT_EQ(kernel.outputs()[0].kind, Kind::row);
  EXPECT_EQ(kernel.outputs()[0].inner, kTokens);
}

TEST(Signature, TokensAndBlocksByNameAndByPosition) {
  Weights data;
  const auto check = [&](const char* how) {
    for (std::int64_t k = 0; k < kTokens; ++k)
      for (std::int64_t r = 0; r < kRows; ++r)
        EXPECT_EQ(data.y[static_cast<std::size_t>(k * kRows + r)], data.expected(k, r)) << how << ' ' << k << ' ' << r;
    std::fill(data.y.begin(), data.y.end(), -1.0f);
  };
  const ConstMatrix x = matrix(static_cast<const float*>(data.x.data()), kTokens, kCols);
  const Matrix y = matrix(data.y.data(), kTokens, kRows);
  for (const Type weights : {Type::q8_0, Type::f32}) {
    const Kernel kernel = Kernel::compile_operator("matvec", Type::f32, for_tokens(weights));
    const ConstMatrix w =
        weights == Type::q8_0 ? data.quantised() : matrix(static_cast<const float*>(data.plain.data()), kRows, kCols);
    kernel.run({{"w", w}, {"x", x}}, {{"y", y}});
    check("by name");
    const std::vector<ConstMatrix> inputs = {w, x};
    const std::vector<Matrix> outputs = {y};
    kernel.prepare(inputs, outputs, kRows, kCols);
    kernel.run(inputs, outputs, kRows, kCols);
    check("by position");
    const CheckReport report = [&] {
      kernel.run(inputs, outputs, kRows, kCols);
      return kernel.check(inputs, outputs, kRows, kCols);
    }();
    EXPECT_TRUE(report.ok());
  }
}

TEST(Signature, OneTokenIsAVector) {
  Weights data;
  Options one = options();
  one.weights = Type::q8_0;
  const Kernel kernel = Kernel::compile_operator("matvec", Type::f32, one);
  kernel.run({{"w", data.quantised()}, {"x", per_column(data.x.data(), kCols)}},
             {{"y", per_row(data.y.data(), kRows)}});
  for (std::int64_t r = 0; r < kRows; ++r) EXPECT_EQ(data.y[static_cast<std::size_t>(r)], data.expected(0, r));
}

TEST(Signature, OutputsInBlocks) {
  const Kernel kernel =
      Kernel::compile_program("program p(x: f32[rows, cols])\n store q: q8_0[rows, cols] = x", options());
  EXPECT_EQ(kernel.outputs().at(0).type, Type::q8_0);
  std::vector<float> x(2 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 32) - 15;
  std::vector<std::byte> blocks(2 * 2 * 34 + 1, std::byte{0x55});
  kernel.run({{"x", matrix(x.data(), 2, 64)}}, {{"q", Matrix{blocks.data(), Type::q8_0, 2, 2}}});
  for (std::size_t b = 0; b < 4; ++b) {
    const double scale = load_element_f64(blocks.data() + b * 34, ElementType::f16);
    EXPECT_NEAR(scale, 16.0 / 127, 1e-4);
    for (std::int64_t c = 0; c < 32; ++c) {
      const std::int64_t code = load_element_integer(blocks.data() + b * 34 + 2 + c, ElementType::i8);
      EXPECT_NEAR(static_cast<double>(code) * scale, static_cast<double>(c) - 15, 0.07);
    }
  }
  EXPECT_EQ(blocks.back(), std::byte{0x55});
}

TEST(Signature, BlocksOverDimensionsThatDoNotJoin) {
  // Heads of one step are appended to a cache whose steps have other heads between them.
  const Kernel kernel =
      Kernel::compile_program("program p(x: f32[rows, cols])\n store q: q8_0[rows, cols] = x", options());
  std::vector<float> x(2 * 3 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 37) - 18;
  constexpr std::int64_t kStep = 10, kHead = 2;
  std::vector<std::byte> cache(2 * kStep * 34, std::byte{0x55}), dense_blocks(2 * 3 * 2 * 34);
  const std::int64_t shape[] = {2, 3, 2}, strides[] = {kStep, kHead, 1}, packed[] = {6, 2, 1};
  const auto in = dense(static_cast<const float*>(x.data()), {2, 3, 64});
  kernel.run({{"x", in}}, {{"q", Tensor(cache.data(), Type::q8_0, shape, strides)}});
  kernel.run({{"x", in}}, {{"q", Tensor(dense_blocks.data(), Type::q8_0, shape, packed)}});
  for (std::size_t token = 0; token < 2; ++token)
    EXPECT_EQ(std::memcmp(cache.data() + token * kStep * 34, dense_blocks.data() + token * 6 * 34, 6 * 34), 0);
  for (std::size_t i = 6 * 34; i < kStep * 34; ++i) EXPECT_EQ(cache[i], std::byte{0x55}) << i;
  // Heads that run into each other are refused, before anything is written.
  const std::int64_t narrow[] = {5, 2, 1};
  const std::vector<std::byte> before = cache;
  expect_error(Code::output_rows_overlap,
               [&] { kernel.run({{"x", in}}, {{"q", Tensor(cache.data(), Type::q8_0, shape, narrow)}}); });
  EXPECT_EQ(cache, before);
}

TEST(Signature, WhatCannotBeTakenApartIsRefused) {
  Weights data;
  const Kernel kernel = Kernel::compile_operator("matvec", Type::f32, for_tokens(Type::q8_0));
  const ConstMatrix x = matrix(static_cast<const float*>(data.x.data()), kTokens, kCols);
  const Matrix y = matrix(data.y.data(), kTokens, kRows);
  const auto call = [&](ConstMatrix w, ConstMatrix tokens, Matrix out) {
    kernel.run({{"w", w}, {"x", tokens}}, {{"y", out}});
  };
  ConstMatrix w = data.quantised();
  w.type = Type::i8;
  expect_error(Code::call_type_mismatch, [&] { call(w, x, y); }, "input w");
  w = data.quantised();
  w.column_stride = 2;
  expect_error(Code::call_shape_mismatch, [&] { call(w, x, y); }, "input w");
  ConstMatrix fewer = x;
  fewer.rows = 2;
  expect_error(Code::call_shape_mismatch, [&] { call(data.quantised(), fewer, y); }, "input x");
  // Numbers that no product with the size of a block holds.
  constexpr std::int64_t kWraps = (std::int64_t{1} << 59) + kCols / 32;
  w = data.quantised();
  w.row_stride = kWraps;
  expect_error(Code::call_shape_mismatch, [&] { call(w, x, y); }, "input w");
  const std::int64_t shape[] = {kRows, kWraps}, strides[] = {kCols / 32, 1};
  expect_error(
      Code::call_shape_mismatch,
      [&] { kernel.run({{"w", ConstTensor(data.blocks.data(), Type::q8_0, shape, strides)}, {"x", x}}, {{"y", y}}); },
      "input w");
  ConstMatrix far = x;
  far.row_stride = std::int64_t{1} << 62;
  expect_error(Code::call_shape_mismatch, [&] { call(data.quantised(), far, y); }, "input x");
  expect_error(Code::input_missing, [&] { kernel.run({{"w", data.quantised()}}, {{"y", y}}); });
  expect_error(Code::unknown_input, [&] { kernel.run({{"w_codes", data.quantised()}, {"x", x}}, {{"y", y}}); });
  const std::vector<ConstMatrix> one = {x};
  const std::vector<Matrix> out = {y};
  expect_error(Code::call_count_mismatch, [&] { kernel.run(one, out, kRows, kCols); });
}

TEST(Signature, WeightsAndTokensAreForOperatorsThatHaveThem) {
  Options wrong = options();
  wrong.tokens = 2;
  expect_error(Code::option_not_for_kernel, [&] { Kernel::compile_operator("sum", Type::f32, wrong); });
  expect_error(Code::option_not_for_kernel, [&] {
    Kernel::compile_program("program p(x: f32[rows, cols])\n store y: f32[rows] = fold sum x", wrong);
  });
  wrong.tokens = 9;
  expect_error(Code::number_invalid, [&] { Kernel::compile_operator("matvec", Type::f32, wrong); });
  wrong.tokens = 1;
  wrong.weights = Type::i32;
  expect_error(Code::operator_storage, [&] { Kernel::compile_operator("matvec", Type::f32, wrong); });
}

TEST(Options, AreFixedWhenAKernelIsCompiled) {
  const float x[4] = {100, -100, 0, 1};
  float plain[4], capped[4];
  const Kernel softmax = Kernel::compile_operator("softmax", Type::f32, options());
  EXPECT_TRUE(softmax.parameters().empty());
  Options with = options();
  with.fixed = {{"soft_cap", 1}, {"scale", 0.5f}};
  const Kernel soft = Kernel::compile_operator("softmax", Type::f32, with);
  softmax.run({{"x", matrix(x, 1, 4)}}, {{"y", matrix(plain, 1, 4)}});
  soft.run({{"x", matrix(x, 1, 4)}}, {{"y", matrix(capped, 1, 4)}});
  EXPECT_EQ(plain[0], 1);
  EXPECT_NEAR(capped[0], 0.47911, 1e-4);  // e / (e + 1/e + 1 + e^tanh(½))
  EXPECT_GT(capped[1], 0.05f);
  // A parameter can be fixed too; it is none then.
  with.fixed = {{"eps", 1e-3f}};
  EXPECT_EQ(Kernel::compile_operator("rms_norm", Type::f32, with).parameters().size(), 1u);
  with.fixed = {{"epsilon", 1e-3f}};
  expect_error(Code::unknown_parameter, [&] { Kernel::compile_operator("rms_norm", Type::f32, with); });
}

TEST(Options, AMaskedRowIsZero) {
  const float inf = std::numeric_limits<float>::infinity();
  const float x[8] = {1, 2, 3, 4, 1, 2, 3, 4}, mask[8] = {-inf, -inf, -inf, -inf, 0, -inf, 0, -inf};
  float y[8];
  const Kernel kernel = Kernel::compile_operator("masked_softmax", Type::f32, options());
  kernel.run({{"x", matrix(x, 2, 4)}, {"mask", matrix(mask, 2, 4)}}, {{"y", matrix(y, 2, 4)}});
  for (int c = 0; c < 4; ++c) EXPECT_EQ(y[c], 0);
  EXPECT_NEAR(y[4] + y[6], 1, 1e-6);
  EXPECT_EQ(y[5], 0);
  Options with = options();
  with.fixed = {{"zero_for_masked", 0}};
  Kernel::compile_operator("masked_softmax", Type::f32, with)
      .run({{"x", matrix(x, 2, 4)}, {"mask", matrix(mask, 2, 4)}}, {{"y", matrix(y, 2, 4)}});
  for (int c = 0; c < 4; ++c) EXPECT_TRUE(std::isnan(y[c]));
}

TEST(RowAxis, ColumnMeans) {
  const Kernel kernel = Kernel::compile_program(
      "program means(x: f32[rows, cols])\n store y: f32[cols] = fold[rows] sum x / rows", options());
  EXPECT_EQ(kernel.outputs().at(0).kind, Kind::column);
  std::vector<float> x(100 * 7), y(7);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) + static_cast<float>(i / 7 % 2);
  kernel.run({{"x", matrix(x.data(), 100, 7)}}, {{"y", per_column(y.data(), 7)}});
  for (int c = 0; c < 7; ++c) EXPECT_EQ(y[static_cast<std::size_t>(c)], static_cast<float>(c) + 0.5f);
  const std::vector<ConstMatrix> in = {matrix(static_cast<const float*>(x.data()), 100, 7)};
  const std::vector<Matrix> out = {per_column(y.data(), 7)};
  EXPECT_TRUE(kernel.check(in, out, 100, 7).ok());
  // Rows that lie unevenly would be several launches, each with means of its own.
  expect_error(Code::call_shape_mismatch, [&] {
    kernel.run({{"x", strided(static_cast<const float*>(x.data()), {4, 10, 7}, {150, 7, 1})}},
               {{"y", per_column(y.data(), 7)}});
  });
  EXPECT_TRUE(kernel.plan_line(100, 7).starts_with("stage 1 of 1, along rows: "));
  EXPECT_NE(kernel.plan_json(100, 7).find("\"transposed\": true"), std::string::npos);
  expect_error(Code::unsupported_axis, [&] { kernel.lane_text(100, 7); });
  expect_error(Code::unsupported_axis, [&] { kernel.emit(100, 7, Emission::lane); });
  expect_error(Code::no_columns, [&] { kernel.plan_line(0, 7); });
}

/// The action throws an Error that names `name`, and nothing that no caller wrote.
template <class Action>
void expect_names(std::string_view name, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(name), what.npos) << what;
    for (const char* own : {"_codes", "_scale", "x_0", "x_1", "y_0", "y_1", "between", "with_columns", "along_rows"})
      EXPECT_EQ(what.find(own), what.npos) << what;
  }
}

TEST(Names, ErrorsHaveThoseOfTheText) {
  Weights data;
  const Kernel matvec = Kernel::compile_operator("matvec", Type::f32, for_tokens(Type::q8_0));
  const ConstMatrix x = matrix(static_cast<const float*>(data.x.data()), kTokens, kCols);
  const Matrix y = matrix(data.y.data(), kTokens, kRows);
  const auto call = [&](ConstMatrix w, ConstMatrix tokens, Matrix out) {
    const std::vector<ConstMatrix> inputs = {w, tokens};
    const std::vector<Matrix> outputs = {out};
    matvec.run(inputs, outputs, kRows, kCols);
  };
  ConstMatrix wrong = data.quantised();
  wrong.rows = 5;
  expect_names("input w", [&] { call(wrong, x, y); });
  wrong = data.quantised();
  wrong.data = nullptr;
  expect_names("input w", [&] { call(wrong, x, y); });
  wrong = x;
  wrong.type = Type::f16;
  expect_names("input x", [&] { call(data.quantised(), wrong, y); });
  wrong = x;
  wrong.type = Type::q8_0;
  expect_names("input x", [&] { call(data.quantised(), wrong, y); });
  Matrix over = y;
  over.data = data.blocks.data();
  expect_names("output y[0] and input w", [&] { call(data.quantised(), x, over); });
  over = y;
  over.row_stride = 1;
  expect_names("outputs y[0] and y[1]", [&] { call(data.quantised(), x, over); });
  // 33 columns are no whole blocks; those of the last stage have the name of the program.
  const Kernel staged = Kernel::compile_program(
      "program f(x: f32[rows, cols])\n c = fold[rows] max x\n store y: f32[rows, cols] = x / fold<32> max c",
      options());
  std::vector<float> in(2 * 33), out(2 * 33);
  expect_names("f:3", [&] { staged.run({{"x", matrix(in.data(), 2, 33)}}, {{"y", matrix(out.data(), 2, 33)}}); });
}

}  // namespace
}  // namespace lanefold::api
