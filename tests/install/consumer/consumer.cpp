// A program that uses an installed Lanefold from C++ and computes for itself what must come out.
#include <lanefold/lanefold.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "consumer.cpp: %s\n", what);
  std::exit(1);
}
void expect(bool right, const char* what) {
  if (!right) fail(what);
}

/// rms_norm of one row, in double.
void expect_norm(const float* x, const float* weight, const float* y, int cols) {
  double sum = 0;
  for (int c = 0; c < cols; ++c) sum += static_cast<double>(x[c]) * x[c];
  const double scale = 1 / std::sqrt(sum / cols + 1e-6);
  for (int c = 0; c < cols; ++c)
    expect(std::fabs(y[c] - x[c] * scale * weight[c]) <= 1e-5 + 2e-5 * std::fabs(y[c]), "rms_norm is wrong");
}

void matrices_and_pool() {
  constexpr int kRows = 5, kCols = 200;
  std::vector<float> x(kRows * kCols), weight(kCols), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 5.5f;
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = 1 + static_cast<float>(i % 4) / 4;
  lanefold::Options options;
  options.pool = lanefold::Pool(2);
  const auto norm = lanefold::Kernel::compile_operator("rms_norm", lanefold::Type::f32, options);
  norm.run({{"x", lanefold::matrix(x.data(), kRows, kCols)}, {"weight", lanefold::per_column(weight.data(), kCols)}},
           {{"y", lanefold::matrix(y.data(), kRows, kCols)}}, {{"eps", 1e-6f}});
  for (int r = 0; r < kRows; ++r) expect_norm(&x[r * kCols], weight.data(), &y[r * kCols], kCols);
}

/// Heads inside a packed tensor [tokens, (heads + 2) * width].
void packed_heads() {
  constexpr int kTokens = 3, kHeads = 2, kWidth = 64, kStep = (kHeads + 2) * kWidth;
  std::vector<float> packed(kTokens * kStep), weight(kWidth, 1.0f), y(kTokens * kHeads * kWidth);
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<float>(i % 29) / 8 - 1;
  const auto norm = lanefold::Kernel::compile_operator("rms_norm", lanefold::Type::f32);
  norm.run({{"x", lanefold::strided(packed.data(), {kTokens, kHeads, kWidth}, {kStep, kWidth, 1})},
            {"weight", lanefold::dense(weight.data(), {kWidth})}},
           {{"y", lanefold::dense(y.data(), {kTokens, kHeads, kWidth})}});
  for (int t = 0; t < kTokens; ++t)
    for (int h = 0; h < kHeads; ++h)
      expect_norm(&packed[t * kStep + h * kWidth], weight.data(), &y[(t * kHeads + h) * kWidth], kWidth);
}

void program_from_text() {
  const auto twice =
      lanefold::Kernel::compile_program("program twice(x: f32[rows, cols])\n  store y: f32[rows, cols] = x + x\n");
  const float x[4] = {1, 2, 3, 4};
  float y[4] = {};
  twice.run({{"x", lanefold::matrix(x, 2, 2)}}, {{"y", lanefold::matrix(y, 2, 2)}});
  for (int i = 0; i < 4; ++i) expect(y[i] == x[i] + x[i], "twice is wrong");
}

void errors_are_caught() {
  try {
    (void)lanefold::Kernel::compile_operator("rms_nrom", lanefold::Type::f32);
  } catch (const lanefold::Error& error) {
    expect(error.name() == "unknown_operator" && !error.hint().empty(), "the error is another one");
    return;
  }
  fail("an unknown operator was compiled");
}

}  // namespace

int main() try {
  expect(lanefold::version() == EXPECTED_VERSION, "the library has another version than its package");
  matrices_and_pool();
  packed_heads();
  program_from_text();
  errors_are_caught();
  std::puts("consumer.cpp: all right");
} catch (const std::exception& error) {
  fail(error.what());
}
