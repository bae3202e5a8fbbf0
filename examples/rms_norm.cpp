// Normalises the rows of a small matrix with the library's rms_norm, and says how.
#include <cstdio>
#include <vector>

#include "lanefold/lanefold.h"

int main() try {
  constexpr int kRows = 4, kCols = 256;
  std::vector<float> x(kRows * kCols), weight(kCols, 1.0f), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;

  const auto norm = lanefold::Kernel::compile_operator("rms_norm", lanefold::Type::f32);
  norm.run({{"x", lanefold::matrix(x.data(), kRows, kCols)}, {"weight", lanefold::per_column(weight.data(), kCols)}},
           {{"y", lanefold::matrix(y.data(), kRows, kCols)}}, {{"eps", 1e-6f}});

  std::printf("row 0:");
  for (int c = 0; c < 7; ++c) std::printf(" %.6f", y[static_cast<std::size_t>(c)]);
  std::printf(" ...\n%s\n", norm.plan_line(kRows, kCols).c_str());
} catch (const lanefold::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
