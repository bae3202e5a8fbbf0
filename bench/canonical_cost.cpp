// What the canonical order costs beside the free one over the norms, and how near rms_norm comes to a hand-vectorised loop of free order (in cache)
// and to a plain copy of the same bytes (out of cache). All arms of a shape take turns; a ratio is the median over the rounds.
// Usage: canonical_cost [threads] [rounds] [operator] [type]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/narrow.h"
#include "bench/stats/statistics.h"
#include "driver/cpu/row_kernel.h"
#include "kernels/registry.h"
#include "runtime/cpu/copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace lanefold;
using Clock = std::chrono::steady_clock;

struct Shape {
  std::int64_t rows, cols;
};
constexpr Shape kShapes[] = {{1, 127}, {17, 257}, {128, 1024}, {64, 4096}, {1, 2560}, {8, 2560}, {4096, 4096}};

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// A matrix with rows one after another, from a multiple of 64 bytes on.
struct Matrix {
  Matrix(ElementType type, std::int64_t rows, std::int64_t cols)
      : bytes((rows * cols * static_cast<std::int64_t>(element_bytes(type)) + 63) / 64 * 64),
        memory(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(bytes)))),
        view{.data = memory.get(), .type = type, .rows = rows, .cols = cols, .row_stride = rows == 1 ? 0 : cols} {
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      const float value = static_cast<float>((i * 7919) % 1009 - 504) / 256;
      if (type == ElementType::f32)
        std::memcpy(memory.get() + 4 * i, &value, 4);
      else {
        const std::uint16_t bits = narrow_bf16(value);
        std::memcpy(memory.get() + 2 * i, &bits, 2);
      }
    }
  }
  std::int64_t bytes;
  std::unique_ptr<std::byte, Free> memory;
  View view;
};

using Arm = std::function<void()>;

/// Nanoseconds a call, a row of rounds per arm; in each round every arm has its turn.
std::vector<std::vector<double>> sample(const std::vector<Arm>& arms, int rounds) {
  constexpr double kRoundNs = 2e6;
  std::vector<std::vector<double>> times(arms.size());
  std::vector<std::int64_t> calls(arms.size(), 1);
  for (std::size_t a = 0; a < arms.size(); ++a) {
    arms[a]();
    const auto begin = Clock::now();
    for (int i = 0; i < 3; ++i) arms[a]();
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / 3;
    calls[a] = std::max<std::int64_t>(1, static_cast<std::int64_t>(kRoundNs / ns));
  }
  for (int r = 0; r < rounds; ++r)
    for (std::size_t k = 0; k < arms.size(); ++k) {
      const std::size_t a = (k + static_cast<std::size_t>(r)) % arms.size();
      arms[a]();
      const auto begin = Clock::now();
      for (std::int64_t i = 0; i < calls[a]; ++i) arms[a]();
      times[a].push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() /
                         static_cast<double>(calls[a]));
    }
  return times;
}

/// The median over the rounds of a's time over b's.
double ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return bench::median(ratios);
}

/// An operator on a shape in one order, ready to be called.
struct Case {
  Case(const char* op, ElementType type, Shape shape, ir::Order order, runtime::Executor& with) : executor(with) {
    driver::CompileOptions options;
    options.order = order;
    program = kernels::build(*kernels::find(op), type).value();
    kernel = driver::RowKernel::create(program, options).value();
    const auto add = [&](const ir::Kind& kind, ElementType storage, std::vector<View>& views) {
      const driver::Shape s = driver::expected_shape(kind, shape.rows, shape.cols);
      matrices.push_back(std::make_unique<Matrix>(storage, s.rows, s.cols));
      views.push_back(matrices.back()->view);
      bytes += matrices.back()->bytes;
    };
    for (const ir::Input& input : program.inputs) add(input.kind, input.storage, inputs);
    for (const ir::Store& store : program.stores) add(store.kind, store.storage, outputs);
    for (const ir::Parameter& parameter : program.parameters) parameters.push_back(static_cast<float>(parameter.value));
    call = {.inputs = inputs, .outputs = outputs, .parameters = parameters, .rows = shape.rows, .cols = shape.cols};
  }
  void run() {
    if (!kernel->run(call, executor).ok()) internal_error("a call was refused");
  }

  runtime::Executor& executor;
  ir::Program program;
  std::unique_ptr<driver::RowKernel> kernel;
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<View> inputs, outputs;
  std::vector<float> parameters;
  std::int64_t bytes = 0;
  runtime::Call call;
};

#if defined(__x86_64__)
/// What a programmer writes for rms_norm in f32: eight accumulators in the order that is fastest, no care for the bits. `words`: x, weight, y, cols.
__attribute__((target("avx2,fma"))) void hand_rms_norm(const lane::ArgumentWord* words, std::int64_t begin,
                                                       std::int64_t end, std::byte*) {
  const std::int64_t cols = words[3].integer;
  const auto* weight = static_cast<const float*>(words[1].pointer);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = static_cast<const float*>(words[0].pointer) + row * cols;
    float* y = static_cast<float*>(words[2].pointer) + row * cols;
    __m256 sums[8];
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    std::int64_t c = 0;
    for (; c + 64 <= cols; c += 64)
      for (int k = 0; k < 8; ++k) {
        const __m256 v = _mm256_loadu_ps(x + c + 8 * k);
        sums[k] = _mm256_fmadd_ps(v, v, sums[k]);
      }
    for (int k = 4; k > 0; k /= 2)
      for (int i = 0; i < k; ++i) sums[i] = _mm256_add_ps(sums[i], sums[i + k]);
    float lanes[8], sum = 0;
    _mm256_storeu_ps(lanes, sums[0]);
    for (const float v : lanes) sum += v;
    for (std::int64_t i = c; i < cols; ++i) sum += x[i] * x[i];
    const float inv = 1 / std::sqrt(sum / static_cast<float>(cols) + 1e-6f);
    const __m256 scale = _mm256_set1_ps(inv);
    std::int64_t i = 0;
    for (; i + 32 <= cols; i += 32)
      for (int k = 0; k < 4; ++k)
        _mm256_storeu_ps(
            y + i + 8 * k,
            _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i + 8 * k), _mm256_loadu_ps(weight + i + 8 * k)), scale));
    for (; i < cols; ++i) y[i] = x[i] * weight[i] * inv;
  }
}
#endif

struct Request {
  unsigned threads = 2;
  int rounds = 41;
  std::string only, type;
};

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

void orders(const Request& request, runtime::Executor& executor) {
  fmt::print("canonical beside free, {} threads\n{:>14} {:>10} {:>5} {:>12} {:>12} {:>7} {:>9}\n", request.threads,
             "operator", "shape", "type", "canonical us", "free us", "ratio", "of a copy");
  std::vector<double> ratios;
  for (const char* op : {"rms_norm", "layer_norm", "softmax", "residual_norm"})
    for (const ElementType type : {ElementType::f32, ElementType::bf16})
      for (const Shape shape : kShapes) {
        if (!request.only.empty() && request.only != op) continue;
        if (!request.type.empty() && request.type != element_name(type)) continue;
        Case canonical(op, type, shape, ir::Order::canonical, executor),
            free(op, type, shape, ir::Order::free, executor);
        const std::int64_t half = (canonical.bytes / 2 + 63) / 64 * 64;
        Matrix from(ElementType::f32, 1, half / 4), to(ElementType::f32, 1, half / 4);
        const auto stores =
            shape.rows * shape.cols >= (1 << 22) ? runtime::CopyStores::streaming : runtime::CopyStores::cached;
        const auto times = sample({[&] { canonical.run(); }, [&] { free.run(); },
                                   [&] { runtime::copy(to.memory.get(), from.memory.get(), half, stores, executor); }},
                                  request.rounds);
        ratios.push_back(ratio(times[0], times[1]));
        fmt::print("{:>14} {:>10} {:>5} {:>12.3f} {:>12.3f} {:>7.3f} {:>9.3f}\n", op,
                   fmt::format("{}x{}", shape.rows, shape.cols), element_name(type),
                   bench::quantile(times[0], 0.1) / 1e3, bench::quantile(times[1], 0.1) / 1e3, ratios.back(),
                   ratio(times[2], times[0]));
        std::fflush(stdout);
      }
  if (!ratios.empty())
    fmt::print("geometric mean {:.3f}, worst {:.3f}\n", geometric_mean(ratios),
               *std::max_element(ratios.begin(), ratios.end()));
}

void beside_hand(const Request& request, runtime::Executor& executor) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  fmt::print("\nrms_norm f32 beside a hand-vectorised loop of free order\n{:>10} {:>10} {:>10} {:>16}\n", "shape",
             "Lanefold us", "hand us", "hand / Lanefold");
  for (const Shape shape : kShapes) {
    Case ours("rms_norm", ElementType::f32, shape, ir::Order::canonical, executor);
    lane::ArgumentWord words[4];
    words[0].pointer = ours.inputs[0].data;
    words[1].pointer = ours.inputs[1].data;
    words[2].pointer = ours.outputs[0].data;
    words[3].integer = shape.cols;
    const auto times = sample(
        {[&] { ours.run(); },
         [&] {
           executor.run({.entry = hand_rms_norm, .arguments = words, .threadgroups = shape.rows, .bytes = ours.bytes});
         }},
        request.rounds);
    fmt::print("{:>10} {:>10.3f} {:>10.3f} {:>16.3f}\n", fmt::format("{}x{}", shape.rows, shape.cols),
               bench::quantile(times[0], 0.1) / 1e3, bench::quantile(times[1], 0.1) / 1e3, ratio(times[1], times[0]));
  }
#else
  (void)request, (void)executor;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  Request request;
  if (argc > 1) request.threads = static_cast<unsigned>(std::atoi(argv[1]));
  if (argc > 2) request.rounds = std::atoi(argv[2]);
  if (argc > 3) request.only = argv[3];
  if (argc > 4) request.type = argv[4];
  runtime::Executor executor(request.threads);
  orders(request, executor);
  if (request.only.empty() || request.only == "rms_norm") beside_hand(request, executor);
}
