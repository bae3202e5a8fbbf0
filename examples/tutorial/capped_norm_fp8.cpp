// The fused norm of the tutorial, from C++: written with expressions, compiled, run and checked on every element.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "lanefold/program.h"

int main() try {
  using lanefold::Kind, lanefold::Type;
  lanefold::Program p("capped_norm_fp8");
  const auto x = p.input("x", Type::f32);
  const auto residual = p.input("residual", Type::f32);
  const auto weight = p.column("weight", Type::f32);
  const auto eps = p.parameter("eps", 1e-6), cap = p.parameter("cap", 30);
  const auto s = p.let("s", residual + x);
  const auto inv = p.let("inv", 1 / sqrt(p.fold("dot", {s, s}) / p.cols() + eps));
  const auto n = p.let("n", cap * tanh(s * weight * inv / cap));
  const auto d = p.let("d", p.fold("max", {abs(n)}, 128) / 448);
  p.store("residual_out", Type::f32, Kind::element, s);
  p.store("q", Type::e4m3, Kind::element, select(d == 0, 0, n / d));
  p.store("scale", Type::f32, Kind::block, d, 128);
  std::printf("%s\n", p.text().c_str());

  constexpr std::int64_t kRows = 3, kCols = 512;
  std::vector<float> in(kRows * kCols), branch(in.size()), w(kCols, 1.5f), out(in.size()), scales(kRows * kCols / 128);
  std::vector<std::uint8_t> codes(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = std::sin(static_cast<float>(i));
    branch[i] = std::cos(static_cast<float>(3 * i));
  }
  const auto kernel = lanefold::Kernel::compile_program(p.text());
  const std::vector<lanefold::ConstMatrix> inputs = {lanefold::matrix(branch.data(), kRows, kCols),
                                                     lanefold::matrix(in.data(), kRows, kCols),
                                                     lanefold::per_column(w.data(), kCols)};
  const std::vector<lanefold::Matrix> outputs = {lanefold::matrix(out.data(), kRows, kCols),
                                                 {codes.data(), Type::e4m3, kRows, kCols},
                                                 lanefold::matrix(scales.data(), kRows, kCols / 128)};
  kernel.run(inputs, outputs, kRows, kCols);
  const bool ok = kernel.check(inputs, outputs, kRows, kCols).ok();
  std::printf("%s\nrow 0: scale %.6f, every element %s\n", kernel.plan_line(kRows, kCols).c_str(),
              static_cast<double>(scales[0]), ok ? "right" : "WRONG");
  return ok ? 0 : 1;
} catch (const lanefold::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
