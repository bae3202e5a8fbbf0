// Times every legal plan of operators on a CUDA device: what calibrates the cost basis of its plans, and what shows how far they are
// from the time of a copy of the same bytes.
//
//   cuda_sweep OPS DTYPES SHAPES ORDERS OUT.jsonl [MOST]
//
// OPS, DTYPES, SHAPES (such as 64x4096) and ORDERS are lists with commas; MOST limits the plans of a case to the cheapest by
// their predicted cost (default: all).
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "driver/cuda/row_kernel.h"
#include "driver/kernel_name.h"
#include "plan/analysis.h"
#include "plan/layout.h"
#include "verify/standard_inputs.h"

namespace lanefold {
namespace {

using runtime::CudaBuffer;
using runtime::CudaDevice;

constexpr std::int64_t kCacheBytes = 192 << 20;  // what the buffers of one round exceed, so that none is in the cache
constexpr int kMostSets = 48;
constexpr int kSamples = 7;

constexpr const char* kCopySource = R"(
extern "C" __global__ void __launch_bounds__(512) copy(const float4* from, float4* to, long long count) {
  const long long at = blockIdx.x * 512ll + threadIdx.x;
  if (at < count) __stcs(to + at, from[at]);
}
extern "C" __global__ void __launch_bounds__(1024) one_block(const float4* from, float4* to, long long count) {
  float4 v;
  if (threadIdx.x < count) v = from[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < count) to[threadIdx.x] = v;
}
extern "C" __global__ void empty(const float4* from, float4* to, long long count) {}
)";

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

template <class T>
T must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  fmt::print(stderr, "{}\n", result.error().text());
  std::exit(1);
}
void must(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.error().text());
  std::exit(1);
}

/// One set of buffers of a call, on the device.
struct Set {
  std::vector<CudaBuffer> buffers;
  std::vector<View> inputs, outputs;
  runtime::Call call;
};

/// `rows` rows that repeat those of the host's matrix.
std::vector<std::byte> repeated(const View& few, std::int64_t bytes) {
  const auto own = static_cast<std::size_t>(few.rows * few.cols) * element_bytes(few.type);
  std::vector<std::byte> all(static_cast<std::size_t>(bytes));
  for (std::size_t at = 0; at < all.size(); at += own)
    std::copy_n(few.data, std::min(own, all.size() - at), all.begin() + static_cast<std::ptrdiff_t>(at));
  return all;
}

View placed(const CudaBuffer& buffer, ElementType type, const ir::Kind& kind, std::int64_t rows, std::int64_t cols) {
  const driver::Shape shape = driver::expected_shape(kind, rows, cols);
  View view{static_cast<std::byte*>(buffer.data()), type, shape.rows, shape.cols, shape.cols, 1};
  if (kind.tag == ir::Kind::Tag::column || kind.tag == ir::Kind::Tag::uniform) view.row_stride = 0;
  if (kind.tag == ir::Kind::Tag::row) view.row_stride = 1, view.column_stride = 0;
  return view;
}

struct Case {
  const CudaDevice& device;
  ir::Program program;
  std::int64_t rows, cols;
  std::vector<float> parameters;
  std::vector<Set> sets;
  std::int64_t bytes = 0;  ///< read and written by one call
};

void allocate(Case& c) {
  const std::int64_t few = std::min<std::int64_t>(c.rows, 64);
  const std::vector<verify::Matrix> matrices = verify::standard_inputs(c.program, few, c.cols);
  const std::vector<View> host = verify::views(matrices);
  const auto size = [&](ElementType type, const ir::Kind& kind) {
    const driver::Shape shape = driver::expected_shape(kind, c.rows, c.cols);
    return shape.rows * shape.cols * static_cast<std::int64_t>(element_bytes(type));
  };
  for (const ir::Input& input : c.program.inputs) c.bytes += size(input.storage, input.kind);
  for (const ir::Store& store : c.program.stores) c.bytes += size(store.storage, store.kind);
  const int sets = static_cast<int>(std::clamp<std::int64_t>(kCacheBytes / c.bytes + 1, 2, kMostSets));
  std::vector<std::vector<std::byte>> contents;
  for (std::size_t i = 0; i < host.size(); ++i)
    contents.push_back(repeated(host[i], size(c.program.inputs[i].storage, c.program.inputs[i].kind)));
  c.sets.resize(static_cast<std::size_t>(sets));
  for (Set& set : c.sets) {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      set.buffers.push_back(must(c.device.allocate(contents[i].size())));
      must(set.buffers.back().write(contents[i]));
      set.inputs.push_back(
          placed(set.buffers.back(), c.program.inputs[i].storage, c.program.inputs[i].kind, c.rows, c.cols));
    }
    for (const ir::Store& store : c.program.stores) {
      set.buffers.push_back(must(c.device.allocate(static_cast<std::size_t>(size(store.storage, store.kind)))));
      must(set.buffers.back().fill(std::byte{0xa5}));
      set.outputs.push_back(placed(set.buffers.back(), store.storage, store.kind, c.rows, c.cols));
    }
    set.call = {set.inputs, set.outputs, c.parameters, c.rows, c.cols};
  }
}

/// A plan at work: its launches over every set.
struct Arm {
  std::string name;
  double predicted = 0;
  std::shared_ptr<const driver::CudaClassKernel> kernel;
  runtime::LaunchShape shape;
  std::vector<std::vector<lane::ArgumentWord>> words;
  std::optional<runtime::CudaGraph> graph;
  int launches = 0;
  std::vector<double> samples;
  std::string failure;
  std::uint64_t digest = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status record(const CudaDevice& device, const runtime::CudaKernel& kernel, const Arm& arm, int launches,
              CUstream stream) {
  for (int i = 0; i < launches; ++i)
    LANEFOLD_CHECK(device.launch(kernel, arm.shape, arm.words[static_cast<std::size_t>(i) % arm.words.size()], stream));
  return success();
}

/// A graph of launches over the sets, long enough to be timed.
void capture(const CudaDevice& device, const runtime::CudaKernel& kernel, Arm& arm, const runtime::CudaStream& stream,
             double expected) {
  const int sets = static_cast<int>(arm.words.size());
  const int wanted = static_cast<int>(std::clamp(400 / std::max(0.5, expected), 1.0, 200.0));
  arm.launches = (wanted + sets - 1) / sets * sets;
  arm.graph.emplace(
      must(device.capture(stream.handle(), [&](CUstream s) { return record(device, kernel, arm, arm.launches, s); })));
}

nlohmann::json describe(const Arm& arm) {
  const plan::Plan& p = arm.kernel->plan;
  nlohmann::json bits = nlohmann::json::array();
  for (const plan::Owner owner : p.layout.bits) bits.push_back(std::string(plan::owner_name(owner)));
  const runtime::ResourceUsage& usage = arm.kernel->kernel->usage();
  return {{"layout", arm.name},
          {"predicted", arm.predicted},
          {"threads", p.threads},
          {"rows_per_threadgroup", p.rows_per_threadgroup},
          {"groups", p.simd_groups_per_row},
          {"stripe", std::string(plan::stripe_name(p.stripe))},
          {"private", p.private_stripe},
          {"early", p.early_loads},
          {"registers", usage.registers},
          {"spills", usage.spill_store_bytes + usage.spill_load_bytes},
          {"us", median(arm.samples)},
          {"least", *std::min_element(arm.samples.begin(), arm.samples.end())}};
}

/// What the cost basis asks of a program (tools/fit_cuda_cost.py).
nlohmann::json features(const ir::Program& program, ir::Order order) {
  const plan::Analysis a = plan::analyse(program);
  double work = 0, accumulators = 0;
  for (const plan::Sweep& sweep : a.sweeps) work += sweep.work, accumulators += sweep.accumulators;
  std::size_t loaded = 0, narrowest = 4;
  for (const ir::Input& input : program.inputs) {
    loaded += input.kind.tag == ir::Kind::Tag::element || input.kind.tag == ir::Kind::Tag::column;
    if (input.kind.tag == ir::Kind::Tag::element) narrowest = std::min(narrowest, element_bytes(input.storage));
  }
  const std::size_t folds = a.row_folds.size() - (order == ir::Order::free ? a.shifted_sums.size() : 0);
  return {{"work", work},           {"accumulators", accumulators},   {"folds", folds},
          {"partials", a.partials}, {"later", a.later_inputs.size()}, {"loaded", loaded},
          {"narrowest", narrowest}, {"stores", a.element_stores}};
}

std::string layout_name(const plan::Plan& p) {
  const auto bits = [&](plan::Owner owner) { return plan::count_bits(p.layout, owner); };
  return fmt::format("c{}l{}r{}p{}g{}k{} x{} {}{}", bits(plan::Owner::component), bits(plan::Owner::lane),
                     bits(plan::Owner::reg), bits(plan::Owner::pass), bits(plan::Owner::simd_group),
                     bits(plan::Owner::cluster), p.rows_per_threadgroup, plan::stripe_name(p.stripe),
                     p.early_loads ? " early" : "");
}

/// The time of copying the bytes of a call, from and to every set's memory.
double copy_time(const Case& c, const runtime::CudaStream& stream, const char* name) {
  const auto kernel =
      must(c.device.kernel({.text = kCopySource, .name = "copy.cu"}, {.name = name, .arguments = 3, .threads = 512}));
  const std::int64_t half = c.bytes / 32 * 16;
  std::vector<CudaBuffer> buffers;
  Arm arm;
  const std::int64_t vectors = half / 16;
  const bool one = std::string_view(name) != "copy";
  arm.shape.block[0] =
      one ? static_cast<std::uint32_t>(std::clamp<std::int64_t>((vectors + 31) / 32 * 32, 32, 1024)) : 512;
  arm.shape.grid[0] = one ? 1 : static_cast<std::uint32_t>((vectors + 511) / 512);
  for (std::size_t i = 0; i < c.sets.size(); ++i) {
    buffers.push_back(must(c.device.allocate(static_cast<std::size_t>(half) + 16)));
    buffers.push_back(must(c.device.allocate(static_cast<std::size_t>(half) + 16)));
    must(buffers[2 * i].fill(std::byte{0x3f}));
    std::vector<lane::ArgumentWord> words(3);
    words[0].pointer = buffers[2 * i].data();
    words[1].pointer = buffers[2 * i + 1].data();
    words[2].integer = vectors;
    arm.words.push_back(words);
  }
  capture(c.device, *kernel, arm, stream, static_cast<double>(c.bytes) / 4e6);
  must(arm.graph->time(stream.handle(), 1));
  for (int s = 0; s < kSamples; ++s) arm.samples.push_back(must(arm.graph->time(stream.handle(), 2)) / arm.launches);
  return median(arm.samples);
}

void sweep(Case& c, ir::Order order, const std::string& label, std::size_t most, std::ofstream& out) {
  const target::Target& target = c.device.target();
  plan::Request request;
  request.rows = c.rows;
  request.cols = c.cols;
  request.order = order;
  request.alignment = driver::alignment_of(c.program, c.sets[0].call);
  auto chosen = plan::choose(c.program, target, request);
  if (!chosen.ok()) {
    fmt::print("{}: {}\n", label, chosen.error().text());
    return;
  }
  std::vector<plan::Candidate> candidates;
  for (const plan::Candidate& candidate : chosen->candidates)
    if (!candidate.rejected) candidates.push_back(candidate);
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
  if (candidates.size() > most) candidates.resize(most);
  std::vector<Arm> arms(candidates.size());
  std::atomic<std::size_t> next{0};
  const auto compile = [&] {
    for (std::size_t i = next++; i < arms.size(); i = next++) {
      plan::Request own = request;
      own.layout = candidates[i].layout;
      own.rows_per_threadgroup = candidates[i].rows_per_threadgroup;
      own.group_threads = candidates[i].threads;
      own.stripe = candidates[i].stripe;
      own.early_loads = candidates[i].early_loads;
      lower::Access access;
      access.streaming = c.bytes > (64 << 20);
      Arm& arm = arms[i];
      arm.predicted = candidates[i].cost;
      auto lowered = driver::lower_program(c.program, target, own, std::nullopt, access);
      if (!lowered.ok()) {
        arm.failure = lowered.error().text();
        continue;
      }
      auto made = driver::compile_for(c.device, std::move(lowered).value(), runtime::CudaBinaryCache(std::nullopt));
      if (!made.ok())
        arm.failure = made.error().text();
      else
        arm.kernel = std::move(made).value();
    }
  };
  std::vector<std::thread> team;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) team.emplace_back(compile);
  for (std::thread& t : team) t.join();

  const runtime::CudaStream stream = must(c.device.stream());
  const double ceiling = copy_time(c, stream, "copy");
  for (Arm& arm : arms) {
    if (!arm.kernel) continue;
    arm.name = layout_name(arm.kernel->plan);
    const lane::Kernel& kernel = arm.kernel->module.kernels[0];
    arm.shape = must(runtime::launch_shape(kernel, c.rows, c.cols));
    arm.shape.shared_bytes = arm.kernel->shared_bytes;
    for (const Set& set : c.sets) {
      arm.words.emplace_back(kernel.arguments.size());
      runtime::fill_arguments(kernel, set.call, arm.words.back());
    }
    for (std::size_t o = 0; o < c.program.stores.size(); ++o)
      must(c.sets[0].buffers[c.program.inputs.size() + o].fill(std::byte{0x5a}));
    must(record(c.device, *arm.kernel->kernel, arm, 1, stream.handle()));
    must(stream.synchronize());
    for (std::size_t o = 0; o < c.program.stores.size(); ++o) {
      const CudaBuffer& buffer = c.sets[0].buffers[c.program.inputs.size() + o];
      std::vector<std::byte> bytes(std::min<std::size_t>(buffer.size(), 8 << 20));
      must(buffer.read(bytes));
      arm.digest = hash_combine(arm.digest, hash_bytes(bytes.data(), bytes.size()));
    }
    capture(c.device, *arm.kernel->kernel, arm, stream, std::max(ceiling, 1.5));
    must(arm.graph->time(stream.handle(), 1));
  }
  for (int s = 0; s < kSamples; ++s)
    for (Arm& arm : arms)
      if (arm.graph) arm.samples.push_back(must(arm.graph->time(stream.handle(), 1)) / arm.launches);
  // The cheapest plan again, without its programmatic launch.
  double plain = 0;
  for (Arm& arm : arms) {
    if (!arm.graph || !arm.shape.programmatic_dependent) continue;
    arm.shape.programmatic_dependent = false;
    arm.graph.reset();
    capture(c.device, *arm.kernel->kernel, arm, stream, std::max(ceiling, 1.5));
    std::vector<double> samples;
    for (int s = 0; s < kSamples; ++s) samples.push_back(must(arm.graph->time(stream.handle(), 1)) / arm.launches);
    plain = median(samples);
    break;
  }
  nlohmann::json result = {{"case", label},
                           {"plain", plain},
                           {"features", features(c.program, order)},
                           {"rows", c.rows},
                           {"cols", c.cols},
                           {"bytes", c.bytes},
                           {"copy", ceiling},
                           {"one_block", copy_time(c, stream, "one_block")},
                           {"empty", copy_time(c, stream, "empty")}};
  const Arm* best = nullptr;
  const Arm* planned = nullptr;
  std::uint64_t digest = 0;
  for (Arm& arm : arms) {
    if (!arm.graph) {
      result["failures"].push_back(arm.failure);
      fmt::print("{}: {}\n", label, arm.failure);
      continue;
    }
    if (digest == 0) digest = arm.digest;
    if (order == ir::Order::canonical && arm.digest != digest) {
      fmt::print("{}: {} gives other bytes\n", label, arm.name);
      result["other_bytes"].push_back(arm.name);
    }
    result["plans"].push_back(describe(arm));
    if (planned == nullptr) planned = &arm;
    if (best == nullptr || median(arm.samples) < median(best->samples)) best = &arm;
  }
  if (best != nullptr) {
    fmt::print("{:<44} copy {:8.2f}  planned {:8.2f} {:5.2f} ({:<28})  plain {:8.2f} best {:8.2f} {:5.2f} ({})\n",
               label, ceiling, median(planned->samples), ceiling / median(planned->samples), planned->name, plain,
               median(best->samples), ceiling / median(best->samples), best->name);
    std::fflush(stdout);
  }
  out << result.dump() << "\n";
  out.flush();
}

int run(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "cuda_sweep OPS DTYPES SHAPES ORDERS OUT.jsonl [MOST]\n");
    return 2;
  }
  const std::size_t most = argc > 6 ? std::stoul(argv[6]) : 1000;
  const CudaDevice device = must(CudaDevice::open());
  std::ofstream out(argv[5], std::ios::app);
  for (const std::string& shape : list_of(argv[3]))
    for (const std::string& op : list_of(argv[1]))
      for (const std::string& dtype : list_of(argv[2])) {
        kernels::Build build;
        for (const ElementType type :
             {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::i8, ElementType::e4m3})
          if (element_name(type) == dtype) build.storage = type;
        driver::ResolvedProgram resolved = must(driver::resolve_program(must(driver::parse_kernel_name(op)), build));
        const std::size_t x = shape.find('x');
        Case c{device,
               std::move(resolved.program),
               std::stoll(shape.substr(0, x)),
               std::stoll(shape.substr(x + 1)),
               {},
               {},
               0};
        c.parameters = verify::default_parameters(c.program);
        allocate(c);
        for (const std::string& order : list_of(argv[4]))
          sweep(c, *ir::order_from_name(order), fmt::format("{} {} {} {}", op, dtype, shape, order), most, out);
      }
  return 0;
}

}  // namespace
}  // namespace lanefold

int main(int argc, char** argv) { return lanefold::run(argc, argv); }
