// Lanefold against oneDNN on the CPU: the same shapes in one run, the two taking turns, the median of samples and their ratio.
// Usage: peers_cpu [threads] [samples]. oneDNN's threads are OpenMP's: OMP_NUM_THREADS.
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "driver/cpu/row_kernel.h"
#include "kernels/registry.h"
#include "verify/check.h"
#include "verify/standard_inputs.h"

namespace {

using namespace lanefold;
using Clock = std::chrono::steady_clock;

struct Shape {
  std::int64_t rows, cols;
};
constexpr Shape kShapes[] = {{1, 127}, {17, 257}, {128, 1024}, {64, 4096}, {1, 2560}, {4096, 4096}};

/// Calls per sample so that one lasts about four milliseconds.
int calibrate(const std::function<void()>& body) {
  for (int i = 0; i < 3; ++i) body();
  for (int repeats = 1;; repeats *= 2) {
    const auto began = Clock::now();
    for (int i = 0; i < repeats; ++i) body();
    if (Clock::now() - began > std::chrono::milliseconds(4) || repeats > 1 << 20) return repeats;
  }
}

double sample(const std::function<void()>& body, int repeats) {
  // The other arm's threads spin for a while after their last call, and this arm's may have been woken on one processor:
  // let the ones go to sleep and the others find their places.
  for (const auto until = Clock::now() + std::chrono::milliseconds(40); Clock::now() < until;) body();
  const auto began = Clock::now();
  for (int i = 0; i < repeats; ++i) body();
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count() / repeats;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// One of our operators on one shape, checked against the oracle before any timing.
class Ours {
 public:
  Ours(const char* name, Shape shape, ir::Order order, unsigned threads) : executor_(threads), shape_(shape) {
    const kernels::Operator* op = kernels::find(name);
    ir::Program program = kernels::build(*op, ElementType::f32).value();
    inputs_ = verify::standard_inputs(program, shape.rows, shape.cols);
    outputs_ = verify::poisoned_outputs(program, shape.rows, shape.cols);
    in_ = verify::views(inputs_);
    out_ = verify::views(outputs_);
    parameters_ = verify::default_parameters(program);
    driver::CompileOptions options;
    options.order = order;
    kernel_ = driver::RowKernel::create(std::move(program), options).value();
    run();
    const verify::CheckReport report = verify::compare(
        kernel_->program(), {.inputs = in_, .parameters = parameters_, .rows = shape.rows, .cols = shape.cols}, out_,
        {.absolute = op->absolute_tolerance, .relative = op->relative_tolerance});
    if (!report.ok()) internal_error(fmt::format("{} is wrong at {} x {}", name, shape.rows, shape.cols));
  }
  void run() {
    if (auto status = kernel_->run({in_, out_, parameters_, shape_.rows, shape_.cols}, executor_); !status)
      internal_error(status.error().text());
  }
  const float* x() const { return reinterpret_cast<const float*>(in_[0].data); }

 private:
  runtime::Executor executor_;
  Shape shape_;
  std::vector<verify::Matrix> inputs_, outputs_;
  std::vector<View> in_, out_;
  std::vector<float> parameters_;
  std::unique_ptr<driver::RowKernel> kernel_;
};

class OneDnn {
 public:
  OneDnn(bool softmax, Shape shape, const float* x) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const dnnl::memory::desc matrix({shape.rows, shape.cols}, dnnl::memory::data_type::f32,
                                    dnnl::memory::format_tag::ab);
    source_ = dnnl::memory(matrix, engine_);
    target_ = dnnl::memory(matrix, engine_);
    std::copy_n(x, shape.rows * shape.cols, static_cast<float*>(source_.get_data_handle()));
    if (softmax) {
      const dnnl::softmax_forward::desc what(dnnl::prop_kind::forward_inference, matrix, 1);
      primitive_ = dnnl::softmax_forward(dnnl::softmax_forward::primitive_desc(what, engine_));
    } else {
      // The same work as ours: weight and bias too.
      const dnnl::layer_normalization_forward::desc what(
          dnnl::prop_kind::forward_inference, matrix, 1e-5f,
          dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
      primitive_ = dnnl::layer_normalization_forward(dnnl::layer_normalization_forward::primitive_desc(what, engine_));
      const dnnl::memory::desc column({shape.cols}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
      scale_ = dnnl::memory(column, engine_);
      shift_ = dnnl::memory(column, engine_);
      std::fill_n(static_cast<float*>(scale_.get_data_handle()), shape.cols, 1.0f);
      std::fill_n(static_cast<float*>(shift_.get_data_handle()), shape.cols, 0.5f);
      arguments_ = {{DNNL_ARG_SCALE, scale_}, {DNNL_ARG_SHIFT, shift_}};
    }
    arguments_[DNNL_ARG_SRC] = source_;
    arguments_[DNNL_ARG_DST] = target_;
  }
  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory source_, target_, scale_, shift_;
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto threads = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 2);
  const int samples = argc > 2 ? std::atoi(argv[2]) : 21;
  fmt::print("target {}, {} threads, median of {} samples in µs; ratio: ours / oneDNN, so smaller is faster\n",
             target::host().name, threads, samples);
  fmt::print("{:<11} {:>11} {:>10} {:>10} {:>10} {:>7}\n", "operator", "shape", "canonical", "free", "oneDNN", "ratio");
  for (const char* name : {"rms_norm", "layer_norm", "softmax"})
    for (const Shape shape : kShapes) {
      const std::string_view op(name);
      Ours canonical(name, shape, ir::Order::canonical, threads), free(name, shape, ir::Order::free, threads);
      std::unique_ptr<OneDnn> peer;
      if (op != "rms_norm") peer = std::make_unique<OneDnn>(op == "softmax", shape, canonical.x());
      std::vector<std::function<void()>> arms{[&] { canonical.run(); }, [&] { free.run(); }};
      if (peer) arms.push_back([&] { peer->run(); });
      std::vector<int> repeats;
      for (const auto& arm : arms) repeats.push_back(calibrate(arm));
      std::vector<std::vector<double>> times(arms.size());
      for (int s = 0; s < samples; ++s)
        for (std::size_t a = 0; a < arms.size(); ++a) {
          const std::size_t turn = (a + static_cast<std::size_t>(s)) % arms.size();
          times[turn].push_back(sample(arms[turn], repeats[turn]));
        }
      const double ours = median(times[0]), fast = median(times[1]);
      const std::string label = fmt::format("{}x{}", shape.rows, shape.cols);
      if (peer)
        fmt::print("{:<11} {:>11} {:>10.3f} {:>10.3f} {:>10.3f} {:>7.3f}\n", name, label, ours, fast, median(times[2]),
                   ours / median(times[2]));
      else
        fmt::print("{:<11} {:>11} {:>10.3f} {:>10.3f} {:>10} {:>7}\n", name, label, ours, fast, "-", "-");
      std::fflush(stdout);
    }
}
