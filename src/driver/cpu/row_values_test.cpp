// What compiled kernels store where shortcuts are taken: zeros and NaNs of extrema, NaNs in outputs, the tails of rows.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/load_store.h"
#include "driver/cpu/row_kernel.h"

namespace lanefold::driver {
namespace {

constexpr std::uint32_t kNan = 0x7fc00000;

std::unique_ptr<RowKernel> compiled(const std::string& text) {
  CompileOptions options;
  options.cache = KernelCache(std::nullopt);
  const Result<ir::Program> program = ir::parse(text, "test");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
  return RowKernel::create(*program, std::move(options)).value();
}

View matrix(void* data, ElementType type, std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  return {.data = static_cast<std::byte*>(data), .type = type, .rows = rows, .cols = cols, .row_stride = stride};
}

void run(RowKernel& kernel, const std::vector<View>& in, const std::vector<View>& out, std::int64_t cols) {
  runtime::Executor executor(1);
  const Status status =
      kernel.run({.inputs = in, .outputs = out, .parameters = {}, .rows = in[0].rows, .cols = cols}, executor);
  ASSERT_TRUE(status.ok()) << status.error().text();
}

/// IEEE 754-2019 maximum, or minimum with `sign` −1, of a row; NaN as the stored pattern.
std::uint32_t extremum(const std::vector<float>& row, float sign) {
  float best = -std::numeric_limits<float>::infinity();
  for (const float x : row) {
    const float v = sign * x;
    if (std::isnan(v)) return kNan;
    if (v > best || (v == best && !std::signbit(v))) best = v;
  }
  return std::bit_cast<std::uint32_t>(sign * best);
}

TEST(RowValues, ExtremaKeepTheRightZeroAndEveryNan) {
  const auto kernel = compiled(R"(program extrema(x: f32[rows, cols])
  store high: f32[rows] = fold max x
  store low: f32[rows] = fold min x
)");
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::bit_cast<float>(kNan), negative_nan = std::bit_cast<float>(0xffc12345u);
  // What most of the row holds, and what one element of it does.
  const std::pair<float, float> rows[] = {{-0.0f, 0.0f},     {0.0f, -0.0f},      {-0.0f, -0.0f},
                                          {0.0f, 0.0f},      {-1, -0.0f},        {1, 0.0f},
                                          {-1, 0.0f},        {1, -0.0f},         {-2, nan},
                                          {2, nan},          {-2, negative_nan}, {2, negative_nan},
                                          {-infinity, -3},   {infinity, 3},      {-infinity, -infinity},
                                          {0.0f, infinity},  {infinity, nan},    {-infinity, negative_nan},
                                          {-1e-42f, -2e-42f}};
  for (const std::int64_t cols : {1, 7, 8, 9, 31, 32, 33, 40, 100, 257, 1024})
    for (const auto& [most, one] : rows)
      for (std::int64_t at = 0; at < cols; at += cols > 100 ? 37 : 1) {
        std::vector<float> x(static_cast<std::size_t>(cols), most);
        x[static_cast<std::size_t>(at)] = one;
        float high = 0, low = 0;
        run(*kernel, {matrix(x.data(), ElementType::f32, 1, cols, cols)},
            {matrix(&high, ElementType::f32, 1, 1, 1), matrix(&low, ElementType::f32, 1, 1, 1)}, cols);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(high), extremum(x, 1)) << cols << " " << most << " " << one << " " << at;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(low), extremum(x, -1)) << cols << " " << most << " " << one << " " << at;
      }
}

TEST(RowValues, ANanIsStoredAsTheOnePatternWhereverItIs) {
  const auto kernel = compiled(R"(program scaled(x: f32[rows, cols], weight: f32[cols])
  m = fold max x
  store y: f32[rows, cols] = (x - m) * weight
  store z: f32[rows, cols] = weight - x
)");
  for (const std::int64_t cols : {1, 8, 9, 32, 40, 41, 100})
    for (std::int64_t at = 0; at < cols; ++at)
      for (const bool in_place : {false, true}) {
        const auto n = static_cast<std::size_t>(cols);
        std::vector<float> x(n), weight(n, 2.0f), y(n), z(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = -1.0f - static_cast<float>(i % 5);
        weight[static_cast<std::size_t>(at)] = std::bit_cast<float>(0xffc00001u);
        const std::vector<float> before = x;
        float* to = in_place ? x.data() : y.data();
        run(*kernel,
            {matrix(x.data(), ElementType::f32, 1, cols, cols), matrix(weight.data(), ElementType::f32, 1, cols, 0)},
            {matrix(to, ElementType::f32, 1, cols, cols), matrix(z.data(), ElementType::f32, 1, cols, cols)}, cols);
        for (std::size_t i = 0; i < n; ++i) {
          const bool nan = i == static_cast<std::size_t>(at);
          const std::uint32_t product = nan ? kNan : std::bit_cast<std::uint32_t>((before[i] + 1) * 2);
          const std::uint32_t difference = nan ? kNan : std::bit_cast<std::uint32_t>(2 - before[i]);
          ASSERT_EQ(std::bit_cast<std::uint32_t>(to[i]), product) << cols << " " << at << " " << i;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(z[i]), difference) << cols << " " << at << " " << i;
        }
      }
}

TEST(RowValues, TailsOfEveryLengthStopWhereTheRowEnds) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::e4m3}) {
    const std::string name(element_name(type));
    const auto kernel = compiled("program shifted(x: " + name + "[rows, cols])\n  m = fold max x\n  store y: " + name +
                                 "[rows, cols] = x - m\n");
    const std::size_t bytes = element_bytes(type);
    for (std::int64_t cols = 1; cols <= 70; ++cols) {
      const std::int64_t rows = 3, stride = cols + 9;
      // The input ends where its memory ends; what lies behind a row of the output stays.
      std::vector<std::byte> x(static_cast<std::size_t>((rows - 1) * stride + cols) * bytes);
      std::vector<std::byte> y(static_cast<std::size_t>(rows * stride) * bytes, std::byte{0xa5});
      const auto value = [](std::int64_t r, std::int64_t c) {
        return c == 0 ? 0.0f : -static_cast<float>((r + c) % 7 + 1);
      };
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
          store_element(x.data() + static_cast<std::size_t>(r * stride + c) * bytes, type, value(r, c));
      run(*kernel, {matrix(x.data(), type, rows, cols, stride)}, {matrix(y.data(), type, rows, cols, stride)}, cols);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < stride; ++c) {
          const std::byte* at = y.data() + static_cast<std::size_t>(r * stride + c) * bytes;
          if (c < cols) {
            ASSERT_EQ(load_element_f32(at, type), value(r, c)) << name << " " << cols << " " << r << " " << c;
            continue;
          }
          for (std::size_t b = 0; b < bytes; ++b) ASSERT_EQ(at[b], std::byte{0xa5}) << name << " " << cols << " " << c;
        }
    }
  }
}

/// A matrix times several vectors at once gives the bytes of each product alone, whatever the rows and columns.
TEST(RowValues, RowsInTurnStoreWhatEachVectorAloneGives) {
  const std::string head = "program products(w: f32[rows, cols]";
  const auto alone = compiled(head + ", x: f32[cols])\n  store y: f32[rows] = fold dot(w, x)\n");
  for (const int vectors : {2, 3, 4, 7, 8}) {
    std::string arguments, stores;
    for (int k = 0; k < vectors; ++k) {
      const std::string n = std::to_string(k);
      arguments += ", x" + n + ": f32[cols]";
      stores += "  store y" + n + ": f32[rows] = fold dot(w, x" + n + ")\n";
    }
    const auto together = compiled(head + arguments + ")\n" + stores);
    for (const std::int64_t cols : {33, 100, 1000, 4100, 10001}) {
      for (const std::int64_t rows : {70, 5}) {
        SCOPED_TRACE(std::to_string(vectors) + " vectors, " + std::to_string(rows) + " x " + std::to_string(cols));
        std::vector<float> w(static_cast<std::size_t>(rows * cols)), x(static_cast<std::size_t>(vectors * cols));
        std::uint32_t seed = 1;
        const auto next = [&] { return static_cast<float>(seed = seed * 1664525u + 1013904223u) * 0x1p-31f - 1; };
        for (float& v : w) v = next();
        for (float& v : x) v = next();
        std::vector<float> y(static_cast<std::size_t>(vectors * rows)), expected(y.size());
        std::vector<View> in = {matrix(w.data(), ElementType::f32, rows, cols, cols)}, out;
        for (int k = 0; k < vectors; ++k) {
          in.push_back(matrix(x.data() + k * cols, ElementType::f32, 1, cols, cols));
          out.push_back(matrix(y.data() + k * rows, ElementType::f32, rows, 1, 1));
          run(*alone, {in[0], in.back()}, {matrix(expected.data() + k * rows, ElementType::f32, rows, 1, 1)}, cols);
        }
        run(*together, in, out, cols);
        EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0);
      }
    }
  }
}

}  // namespace
}  // namespace lanefold::driver
