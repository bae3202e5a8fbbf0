// What a launch costs the host on a CUDA device, and the first use of a kernel in a process that finds it in the disk cache.
//
//   cuda_launch [OP [ROWSxCOLS [DTYPE]]]      (rms_norm 1x2560 f32)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/stats/statistics.h"
#include "driver/cuda/row_kernel.h"
#include "driver/kernel_name.h"
#include "kernels/registry.h"
#include "lanefold/lanefold.h"
#include "verify/standard_inputs.h"

namespace lanefold {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::CudaBuffer;
using runtime::CudaDevice;

constexpr int kBatches = 51;
constexpr int kLaunches = 100;  // of a batch: fewer than the queue of a stream holds
constexpr int kProcesses = 9;
constexpr std::string_view kFirstUse = "--first-use";

template <class T>
T must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  fmt::print(stderr, "{}\n", result.error().text());
  std::exit(1);
}

double microseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}

/// Device memory of one call.
struct Buffers {
  std::vector<CudaBuffer> memory;
  std::vector<View> inputs, outputs;
  runtime::Call call;
};

View add(const CudaDevice& device, Buffers& buffers, ElementType type, const ir::Kind& kind, std::int64_t rows,
         std::int64_t cols) {
  const driver::Shape shape = driver::expected_shape(kind, rows, cols);
  buffers.memory.push_back(
      must(device.allocate(static_cast<std::size_t>(shape.rows * shape.cols) * element_bytes(type))));
  must(buffers.memory.back().fill(std::byte{0}));
  View view{static_cast<std::byte*>(buffers.memory.back().data()), type, shape.rows, shape.cols, shape.cols, 1};
  if (kind.tag == ir::Kind::Tag::column || kind.tag == ir::Kind::Tag::uniform) view.row_stride = 0;
  if (kind.tag == ir::Kind::Tag::row) view.row_stride = 1, view.column_stride = 0;
  return view;
}

Buffers buffers_of(const CudaDevice& device, const ir::Program& program, std::span<const float> parameters,
                   std::int64_t rows, std::int64_t cols) {
  Buffers buffers;
  for (const ir::Input& input : program.inputs)
    buffers.inputs.push_back(add(device, buffers, input.storage, input.kind, rows, cols));
  for (const ir::Store& store : program.stores)
    buffers.outputs.push_back(add(device, buffers, store.storage, store.kind, rows, cols));
  buffers.call = {buffers.inputs, buffers.outputs, parameters, rows, cols};
  return buffers;
}

/// Median host time of one of the calls in a batch, µs; the device catches up between batches.
template <class Launch>
double cost(const CudaDevice& device, const Launch& launch) {
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    must(device.synchronize());
    const auto begin = Clock::now();
    for (int i = 0; i < kLaunches; ++i) must(launch(i));
    times.push_back(microseconds(begin) / kLaunches);
  }
  return bench::median(times);
}

/// Times of one process that begins: context, the kernel ready to be launched, and its first launch done.
struct FirstUse {
  double context = 0, ready = 0, done = 0;
  bool from_disk = false;
  std::vector<driver::PhaseTime> phases;  ///< of `ready`
};

struct Named {
  std::string op = "rms_norm", shape = "1x2560", dtype = "f32";
};

/// A kernel, and what its calls have in common.
struct Opened {
  std::unique_ptr<driver::CudaRowKernel> kernel;
  std::vector<float> parameters;
  std::int64_t rows = 0, cols = 0;
};

ir::Program program_of(const Named& named) {
  kernels::Build build;
  build.storage = element_from_name(named.dtype).value_or(ElementType::f32);
  return must(driver::resolve_program(must(driver::parse_kernel_name(named.op)), build)).program;
}

Opened open(const CudaDevice& device, const Named& named) {
  ir::Program program = program_of(named);
  Opened opened;
  opened.parameters = verify::default_parameters(program);
  const std::size_t x = named.shape.find('x');
  opened.rows = std::stoll(named.shape.substr(0, x));
  opened.cols = std::stoll(named.shape.substr(x + 1));
  opened.kernel = must(driver::CudaRowKernel::create(std::move(program), device, {}));
  return opened;
}

FirstUse first_use(const Named& named) {
  FirstUse times;
  auto begin = Clock::now();
  const CudaDevice device = must(CudaDevice::open());
  must(device.synchronize());
  times.context = microseconds(begin);
  // Memory is the caller's business, and there before the first use.
  const ir::Program program = program_of(named);
  const std::vector<float> parameters = verify::default_parameters(program);
  const std::size_t x = named.shape.find('x');
  const Buffers buffers = buffers_of(device, program, parameters, std::stoll(named.shape.substr(0, x)),
                                     std::stoll(named.shape.substr(x + 1)));
  must(device.synchronize());
  begin = Clock::now();
  const Opened opened = open(device, named);
  const driver::CudaLaunch launch = must(opened.kernel->prepare(buffers.call));
  times.ready = microseconds(begin);
  must(opened.kernel->launch(launch, nullptr));
  must(device.synchronize());
  times.done = microseconds(begin);
  times.from_disk = launch.kernel->kernel->module().binary().from_disk;
  times.phases = launch.kernel->times;
  return times;
}

/// Processes of their own, one after another; the first one fills the cache.
void print_first_use(const std::string& command, const Named& named) {
  std::vector<double> contexts, ready, done;
  std::vector<std::pair<std::string, std::vector<double>>> phases;
  for (int i = 0; i <= kProcesses; ++i) {
    FILE* child =
        ::popen(fmt::format("'{}' {} {} {} {}", command, kFirstUse, named.op, named.shape, named.dtype).c_str(), "r");
    double times[3] = {};
    int from_disk = 0;
    const int read =
        child == nullptr ? 0 : std::fscanf(child, "%lf %lf %lf %d", &times[0], &times[1], &times[2], &from_disk);
    std::vector<driver::PhaseTime> taken;
    char phase[32];
    double us = 0;
    while (child != nullptr && std::fscanf(child, "%31s %lf", phase, &us) == 2) taken.push_back({phase, us});
    if (child == nullptr || ::pclose(child) != 0 || read != 4) {
      fmt::print(stderr, "the process for a first use failed\n");
      std::exit(1);
    }
    if (i == 0) {
      fmt::print("first use, {:<38} {:10.0f} µs\n", from_disk != 0 ? "in the cache already" : "compiled", times[1]);
      continue;
    }
    if (from_disk == 0) fmt::print("the kernel was not in the disk cache; is its folder writable?\n");
    contexts.push_back(times[0]);
    ready.push_back(times[1]);
    done.push_back(times[2]);
    phases.resize(taken.size());
    for (std::size_t p = 0; p < taken.size(); ++p) {
      phases[p].first = taken[p].phase;
      phases[p].second.push_back(taken[p].microseconds);
    }
  }
  fmt::print("{:<49} {:10.0f} µs\n", "the context alone", bench::median(contexts));
  fmt::print("{:<49} {:10.0f} µs\n", "first use from the disk cache: ready to launch", bench::median(ready));
  for (const auto& [name, times] : phases) fmt::print("  {:<47} {:10.0f} µs\n", name, bench::median(times));
  fmt::print("{:<49} {:10.0f} µs\n", "first use from the disk cache: first launch done", bench::median(done));
}

void print_line(std::string_view what, double us) { fmt::print("{:<49} {:10.2f} µs\n", what, us); }

/// A call as the library takes it.
struct LibraryCall {
  explicit LibraryCall(const Buffers& buffers) {
    for (const View& v : buffers.inputs)
      inputs.push_back({v.data, static_cast<Type>(v.type), v.rows, v.cols, v.row_stride, v.column_stride});
    for (const View& v : buffers.outputs)
      outputs.push_back({v.data, static_cast<Type>(v.type), v.rows, v.cols, v.row_stride, v.column_stride});
  }
  std::vector<ConstMatrix> inputs;
  std::vector<Matrix> outputs;
};

/// The same calls through the public facade.
void print_library_costs(const CudaDevice& device, const Named& named, const Opened& opened, const Buffers& one,
                         const Buffers& other, const runtime::CudaStream& stream) {
  if (kernels::find(named.op) == nullptr) return;  // a program from a file
  Options options;
  options.device = Device::cuda;
  options.cuda_device = device.ordinal();
  const auto storage = static_cast<Type>(element_from_name(named.dtype).value_or(ElementType::f32));
  const Kernel kernel = Kernel::compile_operator(named.op, storage, options);
  const LibraryCall calls[] = {LibraryCall(one), LibraryCall(other)};
  const auto run = [&](const LibraryCall& call) -> Status {
    kernel.run(call.inputs, call.outputs, opened.rows, opened.cols, {}, {stream.handle()});
    return success();
  };
  for (const LibraryCall& call : calls) must(run(call));
  print_line("library, the same call again", cost(device, [&](int) { return run(calls[0]); }));
  print_line("library, two calls in turn", cost(device, [&](int i) { return run(calls[i % 2]); }));
}

void print_costs(const Named& named) {
  const CudaDevice device = must(CudaDevice::open());
  const Opened opened = open(device, named);
  driver::CudaRowKernel& kernel = *opened.kernel;
  const auto make = [&] { return buffers_of(device, kernel.program(), opened.parameters, opened.rows, opened.cols); };
  const Buffers one = make(), other = make();
  const runtime::CudaStream stream = must(device.stream());
  const driver::CudaLaunch launch = must(kernel.prepare(one.call));
  must(kernel.launch(launch, stream.handle()));
  print_line("launch of a prepared call", cost(device, [&](int) { return kernel.launch(launch, stream.handle()); }));
  print_line("run, the same call again", cost(device, [&](int) { return kernel.run(one.call, stream.handle()); }));
  print_line("run, two calls in turn (checked each time)",
             cost(device, [&](int i) { return kernel.run(i % 2 == 0 ? one.call : other.call, stream.handle()); }));
  print_library_costs(device, named, opened, one, other, stream);
  std::vector<double> whole;
  for (int i = 0; i < kBatches * 4; ++i) {
    const auto begin = Clock::now();
    must(kernel.run(one.call, stream.handle()));
    must(stream.synchronize());
    whole.push_back(microseconds(begin));
  }
  print_line("run and wait for it", bench::median(whole));
}

int run(std::vector<std::string> words) {
  const std::string command = words.front();
  words.erase(words.begin());
  const bool child = !words.empty() && words.front() == kFirstUse;
  if (child) words.erase(words.begin());
  Named named;
  if (!words.empty()) named.op = words[0];
  if (words.size() > 1) named.shape = words[1];
  if (words.size() > 2) named.dtype = words[2];
  if (named.shape.find('x') == std::string::npos) {
    fmt::print(stderr, "cuda_launch [OP [ROWSxCOLS [DTYPE]]]\n");
    return 2;
  }
  if (child) {
    const FirstUse times = first_use(named);
    fmt::print("{} {} {} {}\n", times.context, times.ready, times.done, times.from_disk ? 1 : 0);
    for (const driver::PhaseTime& phase : times.phases) fmt::print("{} {}\n", phase.phase, phase.microseconds);
    return 0;
  }
  fmt::print("{} {} {}, host time\n", named.op, named.shape, named.dtype);
  print_costs(named);
  print_first_use(command, named);
  return 0;
}

}  // namespace
}  // namespace lanefold

int main(int argc, char** argv) { return lanefold::run(std::vector<std::string>(argv, argv + argc)); }
