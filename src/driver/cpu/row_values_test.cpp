// What compiled kernels store where shortcuts are taken: zeros and NaNs of extrema, NaNs in outputs, the tails of rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/load_store.h"
#include "base/narrow.h"
#include "driver/cpu/row_kernel.h"
#include "jit/jit.h"
#include "math/portable.h"

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
  // Alone in its loop, a maximum takes another way.
  const auto maximum = compiled("program maximum(x: f32[rows, cols])\n  store high: f32[rows] = fold max x\n");
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
        high = 0;
        run(*maximum, {matrix(x.data(), ElementType::f32, 1, cols, cols)}, {matrix(&high, ElementType::f32, 1, 1, 1)},
            cols);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(high), extremum(x, 1)) << cols << " " << most << " " << one << " " << at;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(low), extremum(x, -1)) << cols << " " << most << " " << one << " " << at;
      }
}

TEST(RowValues, TheLargerOfTwoIsTheIeeeMaximum) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float numbers[] = {
      0.0f,     -0.0f,     1, -1, std::bit_cast<float>(kNan), std::bit_cast<float>(0xffc12345u), 1e-42f, -1e-42f,
      infinity, -infinity, 4, -4};
  std::vector<float> x, z;
  for (const float a : numbers)
    for (const float b : numbers) x.push_back(a), z.push_back(b);
  const auto cols = static_cast<std::int64_t>(x.size());
  const auto kernel = compiled(R"(program two(x: f32[rows, cols], z: f32[rows, cols])
  store high: f32[rows, cols] = max(x, z)
  store low: f32[rows, cols] = min(x, z)
  store capped: f32[rows, cols] = max(min(x, 4), -4)
  store above: f32[rows, cols] = max(x, 0)
)");
  std::vector<float> high(x.size()), low(x.size()), capped(x.size()), above(x.size());
  const auto view = [&](std::vector<float>& v) { return matrix(v.data(), ElementType::f32, 1, cols, cols); };
  run(*kernel, {view(x), view(z)}, {view(high), view(low), view(capped), view(above)}, cols);
  const auto bits = [](float v) { return std::bit_cast<std::uint32_t>(v); };
  const auto of = [](float a, float b, float sign) { return std::bit_cast<float>(extremum({a, b}, sign)); };
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(bits(high[i]), bits(of(x[i], z[i], 1))) << x[i] << " " << z[i];
    EXPECT_EQ(bits(low[i]), bits(of(x[i], z[i], -1))) << x[i] << " " << z[i];
    EXPECT_EQ(bits(capped[i]), bits(of(of(x[i], 4, -1), -4, 1))) << x[i];
    EXPECT_EQ(bits(above[i]), bits(of(x[i], 0, 1))) << x[i];
  }
}

// LLVM's optimiser reads past a table where it meets its own maximum of a call and one of the call's operands.
TEST(RowValues, TheLargerOfAFunctionAndItsArgument) {
  const auto kernel = compiled(R"(program larger(x: f32[rows, cols], z: f32[rows, cols])
  store y: f32[rows, cols] = max(trunc(x), x) + min(fma(x, z, 1), z) + max(x, abs(x)) + min(sqrt(abs(z)), abs(z))
)");
  const std::vector<float> x = {1.5f, -1.5f, 2}, z = {4, 0.25f, -9};
  std::vector<float> x_in = x, z_in = z, y(3);
  const auto view = [&](std::vector<float>& v) { return matrix(v.data(), ElementType::f32, 1, 3, 3); };
  run(*kernel, {view(x_in), view(z_in)}, {view(y)}, 3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(y[i], std::max(std::trunc(x[i]), x[i]) + std::min(std::fma(x[i], z[i], 1.0f), z[i]) + std::abs(x[i]) +
                        std::min(std::sqrt(std::abs(z[i])), std::abs(z[i])));
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

TEST(RowValues, Bf16RoundsOnceInEveryColumnAndStoresOneNan) {
  const auto kernel = compiled(R"(program scaled(x: bf16[rows, cols], weight: bf16[cols])
  m = fold max x
  store y: bf16[rows, cols] = (x - m) * weight
  store z: bf16[rows, cols] = weight + x * 0.001
)");
  const std::uint16_t kinds[] = {0x7fc0, 0x7fff, 0xffff, 0x7f81, 0xff81, 0x7f80, 0xff80, 0x7f7f, 0x0001, 0x8000};
  for (const std::int64_t cols : {1, 8, 16, 31, 32, 40, 64, 71, 96})
    for (const std::uint16_t kind : kinds)
      for (std::int64_t at = 0; at < cols; ++at)
        for (const bool in_place : {false, true}) {
          const auto n = static_cast<std::size_t>(cols);
          std::vector<std::uint16_t> x(n), weight(n), y(n), z(n);
          float most = -std::numeric_limits<float>::infinity();
          for (std::size_t i = 0; i < n; ++i) {
            x[i] = narrow_bf16(static_cast<float>((i * 37) % 61) * -0.171f);
            weight[i] = narrow_bf16(1.0f + static_cast<float>((i * 13) % 29) * 0.013f);
            most = std::max(most, widen_bf16(x[i]));
          }
          weight[static_cast<std::size_t>(at)] = kind;
          const std::vector<std::uint16_t> before = x;
          std::uint16_t* to = in_place ? x.data() : y.data();
          run(*kernel,
              {matrix(x.data(), ElementType::bf16, 1, cols, cols),
               matrix(weight.data(), ElementType::bf16, 1, cols, 0)},
              {matrix(to, ElementType::bf16, 1, cols, cols), matrix(z.data(), ElementType::bf16, 1, cols, cols)}, cols);
          for (std::size_t i = 0; i < n; ++i) {
            const float value = widen_bf16(before[i]), w = widen_bf16(weight[i]);
            ASSERT_EQ(to[i], narrow_bf16((value - most) * w)) << cols << " " << kind << " " << at << " " << i;
            ASSERT_EQ(z[i], narrow_bf16(w + value * 0.001f)) << cols << " " << kind << " " << at << " " << i;
          }
        }
}

TEST(RowValues, ExpOfADistanceFromTheMaximumIsThePortableOneForEveryDistance) {
  const auto kernel = compiled(R"(program distances(x: f32[rows, cols])
  e = exp(x - fold max x)
  store total: f32[rows] = fold sum e
  store y: f32[rows, cols] = e
)");
  const float infinity = std::numeric_limits<float>::infinity();
  const auto check = [&](std::vector<float> x) {
    const auto cols = static_cast<std::int64_t>(x.size());
    const float most = std::bit_cast<float>(extremum(x, 1));
    std::vector<float> y(x.size());
    float total = 0;
    run(*kernel, {matrix(x.data(), ElementType::f32, 1, cols, cols)},
        {matrix(&total, ElementType::f32, 1, 1, 1), matrix(y.data(), ElementType::f32, 1, cols, cols)}, cols);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float right = math::evaluate_f32(math::Function::exp, x[i] - most);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::isnan(right) ? kNan : std::bit_cast<std::uint32_t>(right))
          << cols << " " << i << " " << x[i] << " of " << most;
    }
  };
  // One element of every kind at every place of a row, among ordinary ones.
  const float kinds[] = {-86.99999f,
                         -87.0f,
                         -87.00001f,
                         -87.4f,
                         -88.0f,
                         -103.9f,
                         -104.0f,
                         -105.0f,
                         -3e38f,
                         -infinity,
                         infinity,
                         3e38f,
                         std::bit_cast<float>(0x7fc12345u),
                         std::bit_cast<float>(0xffc00001u),
                         std::bit_cast<float>(0x7f800001u),
                         -0.0f,
                         1e-42f};
  for (const std::size_t cols : {1u, 9u, 32u, 40u, 71u, 96u})
    for (const float kind : kinds)
      for (std::size_t at = 0; at < cols; ++at) {
        std::vector<float> x(cols);
        for (std::size_t i = 0; i < cols; ++i) x[i] = -static_cast<float>(i % 11) * 0.37f;
        x[at] = kind;
        check(std::move(x));
      }
  check(std::vector<float>(100, -infinity));
  check(std::vector<float>(100, infinity));
  // Distances from 0 to 110, close to each other, from a maximum that is not zero.
  for (const float first : {0.0f, 1.5f, -1e-3f})
    for (int part = 0; part < 64; ++part) {
      std::vector<float> x(4096);
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = first - 110.0f * static_cast<float>(i * 64 + static_cast<std::size_t>(part)) / (4096 * 64);
      check(std::move(x));
    }
}

TEST(RowValues, LoopsTakeTheirShortWays) {
  // What these tests look at are shortcuts of the code generator: without them they would say nothing.
  const auto kernel = compiled(R"(program softmax(x: f32[rows, cols])
  e = exp(x - fold max x)
  store y: f32[rows, cols] = e / fold sum e
)");
  std::vector<float> x(1024), y(1024);
  const std::vector<View> in{matrix(x.data(), ElementType::f32, 1, 1024, 1024)};
  const std::vector<View> out{matrix(y.data(), ElementType::f32, 1, 1024, 1024)};
  const auto prepared = kernel->prepare({.inputs = in, .outputs = out, .parameters = {}, .rows = 1, .cols = 1024});
  ASSERT_TRUE(prepared.ok());
  const std::string text = jit::llvm_text((*prepared)->module, target::host()).value();
  // The short form of exp goes on to a next step, and the next row is asked for.
  for (const char* part : {"next:", "llvm.prefetch"}) EXPECT_NE(text.find(part), std::string::npos) << part;

  // A maximum on its own needs no integers.
  const auto maximum = compiled("program maximum(x: f32[rows, cols])\n  store high: f32[rows] = fold max x\n");
  const std::vector<View> high{matrix(y.data(), ElementType::f32, 1, 1, 1)};
  const auto alone = maximum->prepare({.inputs = in, .outputs = high, .parameters = {}, .rows = 1, .cols = 1024});
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(jit::llvm_text((*alone)->module, target::host()).value().find("llvm.umax"), std::string::npos);

  // Two vectors of bf16 are one load and one store.
  const auto narrow = compiled("program twice(x: bf16[rows, cols])\n  store y: bf16[rows, cols] = x * 2\n");
  std::vector<std::uint16_t> a(1024), b(1024);
  const std::vector<View> from{matrix(a.data(), ElementType::bf16, 1, 1024, 1024)};
  const std::vector<View> to{matrix(b.data(), ElementType::bf16, 1, 1024, 1024)};
  const auto pairs = narrow->prepare({.inputs = from, .outputs = to, .parameters = {}, .rows = 1, .cols = 1024});
  ASSERT_TRUE(pairs.ok());
  const std::string loaded = "load <" + std::to_string(target::host().simd_width) + " x i32>, ptr";
  EXPECT_NE(jit::llvm_text((*pairs)->module, target::host()).value().find(loaded), std::string::npos);
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
TEST(RowValues, FewRowsHaveAKernelThatTakesNoneInTurn) {
  const auto kernel = compiled(
      "program two(w: f32[rows, cols], a: f32[cols], b: f32[cols])\n"
      "  store y: f32[rows] = fold dot(w, a)\n  store z: f32[rows] = fold dot(w, b)\n");
  constexpr std::int64_t cols = 4096;
  std::vector<float> w(64 * cols), a(cols), y(64), z(64);
  for (const auto& [rows, in_threadgroup] : {std::pair<std::int64_t, std::uint32_t>{64, 32}, {1, 1}, {64, 32}}) {
    const std::vector<View> in = {matrix(w.data(), ElementType::f32, rows, cols, cols),
                                  matrix(a.data(), ElementType::f32, 1, cols, cols),
                                  matrix(a.data(), ElementType::f32, 1, cols, cols)};
    const std::vector<View> out = {matrix(y.data(), ElementType::f32, rows, 1, 1),
                                   matrix(z.data(), ElementType::f32, rows, 1, 1)};
    const auto chosen = kernel->prepare({.inputs = in, .outputs = out, .parameters = {}, .rows = rows, .cols = cols});
    ASSERT_TRUE(chosen.ok()) << chosen.error().text();
    EXPECT_EQ((*chosen)->plan.rows_per_threadgroup, in_threadgroup) << rows;
  }
}

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
        // The same vectors, one column after another with gaps between.
        std::vector<float> spread(x.size() * 2, 1e30f);
        for (std::size_t i = 0; i < x.size(); ++i) spread[2 * i] = x[i];
        for (int k = 0; k < vectors; ++k) {
          View& view = in[static_cast<std::size_t>(k) + 1];
          view = matrix(spread.data() + 2 * k * cols, ElementType::f32, 1, cols, 2 * cols);
          view.column_stride = 2;
        }
        std::fill(y.begin(), y.end(), 0.0f);
        run(*together, in, out, cols);
        EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0) << "strided";
      }
    }
  }
}

}  // namespace
}  // namespace lanefold::driver
