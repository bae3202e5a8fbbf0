// Calls over leading dimensions against the same call on rows without gaps, byte for byte.
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "api/test_calls.h"
#include "kernels/registry.h"
#include "verify/standard_inputs.h"

namespace lanefold::api {
namespace {

constexpr std::int64_t kLeading[3] = {3, 2, 5};
constexpr std::int64_t kRows = 30;
constexpr int kPatterns = 6;
constexpr std::byte kSentinel{0x5a};

/// How leading dimensions may lie around rows of `width` elements, by number.
std::array<std::int64_t, 3> leading_strides(int pattern, std::int64_t width) {
  switch (pattern) {
    case 0: return {10 * width, 5 * width, width};                       // without gaps
    case 1: return {10 * (width + 3), 5 * (width + 3), width + 3};       // a gap behind each row
    case 2: return {2 * (5 * width + 7), 5 * width + 7, width};          // behind each five
    case 3: return {5 * width, 15 * width, width};                       // transposed
    case 4: return {2 * (5 * width + 7) + 9, 5 * width + 7, width + 1};  // no two dimensions lie evenly
    default: return {-(10 * width + 4), 5 * width, width};               // backwards
  }
}

/// The elements of a matrix of kRows rows in an array of four dimensions, with sentinels in the gaps.
struct Scattered {
  Scattered(const verify::Matrix& matrix, const Port& port, int pattern) : bytes(element_bytes(matrix.view().type)) {
    const View view = matrix.view();
    tensor.type = port.type;
    if (port.kind == Kind::column) {
      place(0, view.cols);
      tensor.rank = 1;
      tensor.shape = {view.cols};
      tensor.strides = {1};
    } else {
      const auto strides = leading_strides(pattern, view.cols);
      place(strides[0] < 0 ? -2 * strides[0] : 0,
            std::max<std::int64_t>(strides[0], 0) * 2 + strides[1] + strides[2] * 4 + view.cols);
      std::copy_n(kLeading, 3, tensor.shape.begin());
      std::copy_n(strides.begin(), 3, tensor.strides.begin());
      // A tensor of Kind::row may end in a dimension of one element.
      tensor.rank = port.kind == Kind::row && pattern % 2 == 0 ? 3 : 4;
      tensor.shape[3] = view.cols;
      tensor.strides[3] = 1;
    }
  }
  Scattered(const Scattered&) = delete;
  Scattered& operator=(const Scattered&) = delete;

  /// Elements `before` and from `data`, in memory full of sentinels.
  void place(std::int64_t before, std::int64_t after) {
    memory.assign(static_cast<std::size_t>(before + after) * bytes, kSentinel);
    tensor.data = memory.data() + static_cast<std::size_t>(before) * bytes;
  }
  std::byte* at(std::int64_t row, std::int64_t column) {
    std::int64_t offset = column;
    if (tensor.rank > 1)
      offset += row / 10 * tensor.strides[0] + row / 5 % 2 * tensor.strides[1] + row % 5 * tensor.strides[2];
    return static_cast<std::byte*>(tensor.data) + offset * static_cast<std::int64_t>(bytes);
  }

  std::size_t bytes;
  std::vector<std::byte> memory;
  Tensor tensor;
};

void fill(Scattered& scattered, const View& from) {
  for (std::int64_t r = 0; r < from.rows; ++r)
    for (std::int64_t c = 0; c < from.cols; ++c) std::memcpy(scattered.at(r, c), from.at(r, c), scattered.bytes);
}

/// Every element is that of `expected`, and every other byte is still a sentinel.
void expect_same(Scattered& scattered, const View& expected, const std::string& what) {
  for (std::int64_t r = 0; r < expected.rows; ++r)
    for (std::int64_t c = 0; c < expected.cols; ++c) {
      ASSERT_EQ(std::memcmp(scattered.at(r, c), expected.at(r, c), scattered.bytes), 0) << what << " " << r << " " << c;
      std::memset(scattered.at(r, c), static_cast<int>(kSentinel), scattered.bytes);
    }
  for (const std::byte byte : scattered.memory) ASSERT_EQ(byte, kSentinel) << what << ": a gap was written";
}

void expect_same_bytes(const std::string& name, Type storage, Order order, std::int64_t cols) {
  Options how = options();
  how.order = order;
  const Kernel kernel = Kernel::compile_operator(name, storage, how);
  const ir::Program program = *kernels::build(*kernels::find(name), static_cast<ElementType>(storage), {});
  const std::vector<verify::Matrix> in = verify::standard_inputs(program, kRows, cols);
  const std::vector<verify::Matrix> out = verify::poisoned_outputs(program, kRows, cols);
  const auto plain = [](const View& v) {
    return Matrix{v.data, static_cast<Type>(v.type), v.rows, v.cols, v.row_stride, v.column_stride};
  };
  std::vector<ConstMatrix> matrices;
  std::vector<Matrix> results;
  for (const verify::Matrix& matrix : in) matrices.push_back(plain(matrix.view()));
  for (const verify::Matrix& matrix : out) results.push_back(plain(matrix.view()));
  kernel.run(matrices, results, kRows, cols);
  for (int pattern = 0; pattern < kPatterns; ++pattern) {
    std::vector<std::unique_ptr<Scattered>> inputs, outputs;
    std::vector<ConstTensor> input_tensors;
    std::vector<Tensor> output_tensors;
    // Each input and output lies in a way of its own.
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int own = (pattern + static_cast<int>(i)) % kPatterns;
      inputs.push_back(std::make_unique<Scattered>(in[i], kernel.inputs()[i], own));
      fill(*inputs.back(), in[i].view());
      input_tensors.push_back(inputs.back()->tensor);
    }
    for (std::size_t o = 0; o < out.size(); ++o) {
      const int own = (pattern + static_cast<int>(o) * 2 + (pattern > 2 ? 1 : 0)) % kPatterns;
      outputs.push_back(std::make_unique<Scattered>(out[o], kernel.outputs()[o], own));
      output_tensors.push_back(outputs.back()->tensor);
    }
    kernel.run(input_tensors, output_tensors);
    EXPECT_TRUE(kernel.check(input_tensors, output_tensors).ok()) << name << " pattern " << pattern;
    for (std::size_t o = 0; o < out.size(); ++o)
      expect_same(*outputs[o], out[o].view(), name + " pattern " + std::to_string(pattern));
  }
}

TEST(FacadeTensors, HaveTheBytesOfRowsWithoutGaps) {
  for (const std::string& name : operator_names())
    for (const Type storage : {Type::f32, Type::bf16}) expect_same_bytes(name, storage, Order::canonical, 128);
}

TEST(FacadeTensors, HaveThemInSerialOrderToo) {
  for (const char* name : {"softmax", "rms_norm_q8"}) expect_same_bytes(name, Type::f32, Order::serial, 64);
}

TEST(FacadeTensors, CheckCountsRowsOverAllLeadingDimensions) {
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  std::vector<float> packed(4 * 5 * 16), weight(16, 1.0f), y(4 * 2 * 16);
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<float>(i % 11) - 5;
  const ConstTensor inputs[] = {strided(packed.data(), {4, 2, 16}, {80, 16, 1}), dense(weight.data(), {16})};
  const Tensor outputs[] = {dense(y.data(), {4, 2, 16})};
  kernel.prepare(inputs, outputs);
  for (const float value : y) ASSERT_EQ(value, 0.0f);
  kernel.run(inputs, outputs);
  y[5 * 16 + 3] += 1;
  y[2 * 16 + 7] += 1;
  const CheckReport report = kernel.check(inputs, outputs);
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.outputs[0].elements, 4 * 2 * 16);
  EXPECT_EQ(report.outputs[0].wrong, 2);
  EXPECT_EQ(report.outputs[0].first_row, 2);
  EXPECT_EQ(report.outputs[0].first_column, 7);
  EXPECT_NEAR(report.outputs[0].max_error, 1, 1e-4);
}

TEST(FacadeTensors, HeadsOfAPackedTensorInPlace) {
  constexpr std::int64_t kTokens = 9, kHeads = 3, kOthers = 2, kWidth = 64, kStep = (kHeads + kOthers) * kWidth;
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  std::vector<float> packed(kTokens * kStep), weight(kWidth, 1.5f);
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<float>(i % 37) / 8 - 2;
  const std::vector<float> before = packed;
  const Tensor heads = strided(packed.data(), {kTokens, kHeads, kWidth}, {kStep, kWidth, 1});
  kernel.run({{"x", heads}, {"weight", dense(weight.data(), {kWidth})}}, {{"y", heads}});
  for (std::int64_t t = 0; t < kTokens; ++t)
    for (std::int64_t h = 0; h < kHeads + kOthers; ++h) {
      const float* const row = &before[static_cast<std::size_t>(t * kStep + h * kWidth)];
      float expected[kWidth];
      if (h < kHeads) {
        kernel.run({{"x", matrix(row, 1, kWidth)}, {"weight", per_column(weight.data(), kWidth)}},
                   {{"y", matrix(expected, 1, kWidth)}});
      } else {
        std::copy_n(row, kWidth, expected);
      }
      EXPECT_EQ(std::memcmp(&packed[static_cast<std::size_t>(t * kStep + h * kWidth)], expected, sizeof expected), 0)
          << t << " " << h;
    }
}

TEST(FacadeTensors, NoRowsAreNoWork) {
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  float weight[8] = {}, unused = 7;
  kernel.run({{"x", dense(&unused, {4, 0, 8})}, {"weight", dense(weight, {8})}}, {{"y", dense(&unused, {4, 0, 8})}});
  kernel.run({{"x", ConstTensor(nullptr, Type::f32, std::array<std::int64_t, 3>{0, 4, 8},
                                std::array<std::int64_t, 3>{32, 8, 1})},
              {"weight", dense(weight, {8})}},
             {{"y", dense(&unused, {0, 4, 8})}});
  EXPECT_EQ(unused, 7);
}

TEST(FacadeTensors, FaultsAreFoundBeforeAnythingIsWritten) {
  const Kernel kernel = Kernel::compile_operator("rms_norm", Type::f32, options());
  std::vector<float> x(400, 1.0f), weight(8, 1.0f), y(400);
  const ConstTensor good[] = {strided(x.data(), {3, 5, 8}, {100, 8, 1}), dense(weight.data(), {8})};
  const Tensor out[] = {dense(y.data(), {3, 5, 8})};
  const float parameters[] = {1};
  expect_error(Code::call_count_mismatch, [&] { kernel.run(good, out, parameters); });
  ConstTensor wrong[] = {good[0], good[1]};
  wrong[0].data = nullptr;
  expect_error(Code::call_data_missing, [&] { kernel.run(wrong, out); }, "input x");
  wrong[0] = good[0];
  wrong[0].type = Type::f16;
  expect_error(Code::call_type_mismatch, [&] { kernel.run(wrong, out); }, "input x");
  expect_error(Code::call_type_mismatch, [&] { kernel.prepare(wrong, out); }, "input x");
  expect_error(Code::call_type_mismatch, [&] { (void)kernel.check(wrong, out); }, "input x");
  const Tensor twice[] = {strided(y.data(), {3, 5, 8}, {8, 8, 1})};
  expect_error(Code::output_rows_overlap, [&] { kernel.run(good, twice); }, "output y");
  for (const float value : y) ASSERT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace lanefold::api
