// llama.cpp's tensor library, ggml, on the CPU as a peer: matvec, and softmax and rms_norm in f32. README.md describes the protocol.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>
#include <nlohmann/json.hpp>

#include "peers/peer_loop.h"

namespace {

using Json = nlohmann::json;

/// Why a case is declined.
const Json* find_input(const Json& what, const std::string& name) {
  for (const Json& entry : what.at("inputs"))
    if (entry.at("name") == name) return &entry;
  return nullptr;
}

/// The contents of an input, which has to be of so many bytes.
std::vector<char> read_input(const Json& entry, std::size_t bytes) {
  const std::string path = entry.at("file");
  std::vector<char> contents(bytes);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(contents.data(), static_cast<std::streamsize>(bytes)) || file.peek() != EOF)
    throw std::runtime_error("the input " + path + " is not of " + std::to_string(bytes) + " bytes");
  return contents;
}

/// An input in f32 of so many elements.
std::vector<float> read_floats(const Json& what, const std::string& name, std::int64_t count) {
  const Json* entry = find_input(what, name);
  if (entry == nullptr || entry->at("type") != "f32") throw Declined("this peer takes " + name + " in f32 only");
  const std::vector<char> bytes = read_input(*entry, static_cast<std::size_t>(count) * sizeof(float));
  std::vector<float> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Tensors that live together in one buffer of ggml.
class Tensors {
 public:
  Tensors() : context_(ggml_init({16 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, /*no_alloc=*/true})) {}
  ggml_context* context() const { return context_.get(); }
  void allocate(ggml_backend_buffer_type_t where) {
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context(), where));
    if (!buffer_) throw std::runtime_error("ggml cannot allocate the case's tensors");
  }

 private:
  ggml_context_ptr context_;
  ggml_backend_buffer_ptr buffer_;
};

ggml_backend_dev_t cpu() { return ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0); }

/// A graph that is ready: planned once, its memory allocated once.
class Graph {
 public:
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  explicit Graph(int threads) : threads_(threads) {
    ggml_threadpool_params parameters = ggml_threadpool_params_default(threads);
    pool_ = ggml_threadpool_new(&parameters);
  }
  ~Graph() { ggml_threadpool_free(pool_); }

  ggml_context* context() const { return tensors_.context(); }
  ggml_tensor* matrix(std::int64_t cols, std::int64_t rows) const {
    return ggml_new_tensor_2d(context(), GGML_TYPE_F32, cols, rows);
  }
  /// The tensors are all there, and this one is what calls compute.
  void finish(ggml_tensor* result) {
    result_ = result;
    tensors_.allocate(ggml_backend_cpu_buffer_type());
    std::memset(result->data, 0xff, ggml_nbytes(result));  // NaN: what is not computed shows
    graph_ = ggml_new_graph(context());
    ggml_build_forward_expand(graph_, result);
    plan_ = ggml_graph_plan(graph_, threads_, pool_);
    work_.resize(plan_.work_size);
    plan_.work_data = work_.data();
  }
  const ggml_tensor* result() const { return result_; }

  /// ns of so many calls.
  double run(std::uint64_t calls) {
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < calls; ++i)
      if (ggml_graph_compute(graph_, &plan_) != GGML_STATUS_SUCCESS)
        throw std::runtime_error("ggml_graph_compute failed");
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  }

 private:
  int threads_;
  ggml_threadpool* pool_ = nullptr;
  Tensors tensors_;
  ggml_tensor* result_ = nullptr;
  ggml_cgraph* graph_ = nullptr;
  ggml_cplan plan_{};
  std::vector<std::uint8_t> work_;
};

/// What is told of a case once it is ready.
struct Ready {
  std::unique_ptr<Graph> graph;
  std::string call;
  std::optional<Json> tolerance;
  std::vector<std::unique_ptr<Tensors>> kept;  ///< weights that the graph reads
};

/// The weights of a matvec as ggml stores them, row after row.
struct Weights {
  ggml_type type;
  std::vector<char> bytes;
};

/// [rows, cols] codes and [rows, cols/32] scales, put together block by block.
std::vector<char> pack_q8_0(const std::vector<char>& codes, const std::vector<char>& scales) {
  constexpr std::size_t kCodes = 32, kScale = 2;
  const std::size_t blocks = scales.size() / kScale;
  std::vector<char> packed(blocks * (kCodes + kScale));
  for (std::size_t b = 0; b < blocks; ++b) {
    char* block = packed.data() + b * (kCodes + kScale);
    std::memcpy(block, scales.data() + b * kScale, kScale);
    std::memcpy(block + kScale, codes.data() + b * kCodes, kCodes);
  }
  return packed;
}

Weights read_weights(const Json& what, std::int64_t rows, std::int64_t cols) {
  const auto elements = static_cast<std::size_t>(rows * cols);
  if (const Json* w = find_input(what, "w")) {
    const std::string type = w->at("type");
    if (type == "f32") return {GGML_TYPE_F32, read_input(*w, elements * 4)};
    if (type == "f16") return {GGML_TYPE_F16, read_input(*w, elements * 2)};
    if (type == "bf16") return {GGML_TYPE_BF16, read_input(*w, elements * 2)};
    throw Declined("this peer takes no weights in " + type);
  }
  const Json *codes = find_input(what, "w_codes"), *scales = find_input(what, "w_scale");
  if (codes == nullptr || scales == nullptr || codes->at("type") != "i8" || scales->at("type") != "f16")
    throw Declined("this peer takes weights in f32, f16, bf16 or q8_0");
  if (cols % 32 != 0) throw Declined("ggml's q8_0 has whole blocks of 32 columns");
  return {GGML_TYPE_Q8_0, pack_q8_0(read_input(*codes, elements), read_input(*scales, elements / 16))};
}

/// How far rounding x to the type that ggml multiplies by may take each output, if it changes x at all: for the row that it moves most, what it
/// does to the sum, reckoned in FP64, and f32's own rounding of a sum in cols/32 steps.
std::optional<Json> tolerance_of(const Weights& weights, const std::vector<float>& x, std::int64_t rows,
                                 std::int64_t cols) {
  const ggml_type rounded = ggml_get_type_traits_cpu(weights.type)->vec_dot_type;
  if (rounded == GGML_TYPE_F32) return std::nullopt;
  const auto n = static_cast<std::size_t>(cols);
  const std::size_t vectors = x.size() / n;
  std::vector<char> narrow(ggml_row_size(rounded, cols));
  std::vector<float> back(n), w(n);
  std::vector<std::vector<double>> taken(vectors, std::vector<double>(n)), kept = taken;
  bool exact = true;
  for (std::size_t k = 0; k < vectors; ++k) {
    ggml_get_type_traits_cpu(rounded)->from_float(x.data() + k * n, narrow.data(), cols);
    ggml_get_type_traits(rounded)->to_float(narrow.data(), back.data(), cols);
    for (std::size_t c = 0; c < n; ++c) {
      kept[k][c] = std::abs(static_cast<double>(back[c]));
      taken[k][c] = static_cast<double>(back[c]) - static_cast<double>(x[k * n + c]);
      exact = exact && taken[k][c] == 0;
    }
  }
  if (exact) return std::nullopt;
  double moved = 0, magnitude = 0;
  const std::size_t row_bytes = ggml_row_size(weights.type, cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    const char* row = weights.bytes.data() + static_cast<std::size_t>(r) * row_bytes;
    ggml_get_type_traits(weights.type)->to_float(row, w.data(), cols);
    for (std::size_t k = 0; k < vectors; ++k) {
      double change = 0, sum = 0;
      for (std::size_t c = 0; c < n; ++c) {
        change += static_cast<double>(w[c]) * taken[k][c];
        sum += std::abs(static_cast<double>(w[c])) * kept[k][c];
      }
      moved = std::max(moved, std::abs(change));
      magnitude = std::max(magnitude, sum);
    }
  }
  const double steps = static_cast<double>(cols) / 32 + 16;
  const double absolute = moved + steps * std::ldexp(magnitude, -24);
  if (!std::isfinite(absolute)) throw Declined("x has no numbers that ggml's rounding keeps finite");
  return Json{{"absolute", absolute},
              {"relative", 0},
              {"why", std::string("each call rounds x to ") + ggml_type_name(rounded) +
                          "; allowed is what that changes in the row that it changes most"}};
}

/// y [rows, vectors] = x · w with the weights in this kind of buffer; nothing where ggml cannot multiply from there.
std::optional<Ready> multiply(const Weights& weights, const std::vector<float>& x, std::int64_t rows, std::int64_t cols,
                              int threads, ggml_backend_buffer_type_t where) {
  Ready ready;
  Tensors& kept = *ready.kept.emplace_back(std::make_unique<Tensors>());
  ggml_tensor* w = ggml_new_tensor_2d(kept.context(), weights.type, cols, rows);
  kept.allocate(where);
  ready.graph = std::make_unique<Graph>(threads);
  Graph& graph = *ready.graph;
  ggml_tensor* input = graph.matrix(cols, static_cast<std::int64_t>(x.size()) / cols);
  ggml_tensor* result = ggml_mul_mat(graph.context(), w, input);
  if (!ggml_backend_dev_supports_op(cpu(), result)) return std::nullopt;
  ggml_backend_tensor_set(w, weights.bytes.data(), 0, weights.bytes.size());
  graph.finish(result);
  std::memcpy(input->data, x.data(), ggml_nbytes(input));
  return ready;
}

/// ns of a call: the shortest of three batches of about 20 ms.
double brief_time(Graph& graph) {
  const double once = std::min(graph.run(1), graph.run(1));
  const auto calls = static_cast<std::uint64_t>(std::clamp(2e7 / once, 1.0, 1e6));
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) best = std::min(best, graph.run(calls) / static_cast<double>(calls));
  return best;
}

Ready prepare_matvec(const Json& what, std::int64_t rows, std::int64_t cols, int threads) {
  const std::size_t vectors = what.at("outputs").size();
  std::vector<float> x;
  for (std::size_t k = 0; k < vectors; ++k) {
    const std::string name = vectors == 1 ? "x" : "x_" + std::to_string(k);
    const std::vector<float> one = read_floats(what, name, cols);
    x.insert(x.end(), one.begin(), one.end());
  }
  const Weights weights = read_weights(what, rows, cols);
  const std::string type = ggml_type_name(weights.type);
  std::optional<Ready> best = multiply(weights, x, rows, cols, threads, ggml_backend_cpu_buffer_type());
  if (!best) throw Declined("ggml's CPU backend multiplies by no " + type);
  best->call = "ggml_mul_mat, plain " + type;

  // Buffers in which ggml packs weights anew for this processor.
  const auto extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_cpu_reg(), "ggml_backend_dev_get_extra_bufts"));
  double best_ns = 0;
  for (ggml_backend_buffer_type_t* where = extra ? extra(cpu()) : nullptr; where != nullptr && *where != nullptr;
       ++where) {
    std::optional<Ready> repacked = multiply(weights, x, rows, cols, threads, *where);
    if (!repacked) continue;
    if (best_ns == 0) best_ns = brief_time(*best->graph);
    const double ns = brief_time(*repacked->graph);
    repacked->call = "ggml_mul_mat, " + type + " in " + ggml_backend_buft_name(*where);
    std::optional<Ready>& slower = ns < best_ns ? best : repacked;
    const std::string beaten = slower->call;
    if (ns < best_ns) best = std::move(repacked);
    best_ns = std::min(best_ns, ns);
    best->call += " (slower: " + beaten + ")";
  }
  if (best_ns == 0) best->call += " (it has no repacked " + type + " for this processor)";
  best->tolerance = tolerance_of(weights, x, rows, cols);
  return std::move(*best);
}

Ready prepare_softmax(const Json& what, std::int64_t rows, std::int64_t cols, int threads) {
  const Json& parameters = what.at("parameters");
  for (const char* option : {"soft_cap", "zero_for_masked"})
    if (parameters.value(option, 0.0f) != 0) throw Declined(std::string("ggml_soft_max has no ") + option);
  const std::vector<float> values = read_floats(what, "x", rows * cols);
  Ready ready{std::make_unique<Graph>(threads), "ggml_soft_max_ext", std::nullopt, {}};
  ggml_tensor* x = ready.graph->matrix(cols, rows);
  ready.graph->finish(
      ggml_soft_max_ext(ready.graph->context(), x, nullptr, parameters.value("scale", 1.0f), /*max_bias=*/0));
  std::memcpy(x->data, values.data(), ggml_nbytes(x));
  return ready;
}

Ready prepare_rms_norm(const Json& what, std::int64_t rows, std::int64_t cols, int threads) {
  const Json& parameters = what.at("parameters");
  const float offset = parameters.value("offset", 0.0f);
  const bool weighted = find_input(what, "weight") != nullptr || offset != 0;
  std::vector<float> factors(static_cast<std::size_t>(cols), 1.0f);
  if (find_input(what, "weight") != nullptr) factors = read_floats(what, "weight", cols);
  for (float& factor : factors) factor += offset;
  const std::vector<float> values = read_floats(what, "x", rows * cols);
  Ready ready{
      std::make_unique<Graph>(threads), weighted ? "ggml_rms_norm, ggml_mul" : "ggml_rms_norm", std::nullopt, {}};
  ggml_tensor* x = ready.graph->matrix(cols, rows);
  ggml_tensor* weight = weighted ? ready.graph->matrix(cols, 1) : nullptr;
  ggml_tensor* normed = ggml_rms_norm(ready.graph->context(), x, parameters.value("eps", 1e-6f));
  ready.graph->finish(weighted ? ggml_mul(ready.graph->context(), normed, weight) : normed);
  std::memcpy(x->data, values.data(), ggml_nbytes(x));
  if (weighted) std::memcpy(weight->data, factors.data(), ggml_nbytes(weight));
  return ready;
}

Ready prepare(const Json& what) {
  const std::string op = what.at("op"), dtype = what.at("dtype");
  if (dtype != "f32") throw Declined("this peer computes from and to f32 only");
  const std::int64_t rows = what.at("rows"), cols = what.at("cols");
  const int threads = what.at("threads");
  if (rows < 1 || cols < 1) throw Declined("ggml takes no empty matrices");
  if (op == "matvec") return prepare_matvec(what, rows, cols, threads);
  if (op == "softmax") return prepare_softmax(what, rows, cols, threads);
  if (op == "rms_norm") return prepare_rms_norm(what, rows, cols, threads);
  throw Declined("this peer has no " + op);
}

/// The result cut into the case's outputs, which lie one after the other in it.
void write_outputs(const ggml_tensor& result, const Json& paths) {
  const std::size_t bytes = ggml_nbytes(&result) / paths.size();
  const char* from = static_cast<const char*>(result.data);
  for (const std::string path : paths) {
    std::ofstream file(path, std::ios::binary);
    file.write(from, static_cast<std::streamsize>(bytes));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
    from += bytes;
  }
}

/// The version, and what ggml was built with.
Json greeting() {
  std::string version = ggml_version();
  const auto features = reinterpret_cast<ggml_backend_get_features_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_cpu_reg(), "ggml_backend_get_features"));
  if (features != nullptr)
    for (const ggml_backend_feature* feature = features(ggml_backend_cpu_reg()); feature->name != nullptr; ++feature)
      if (std::strcmp(feature->value, "0") != 0) version += std::string(" ") + feature->name;
  return {{"protocol", 1}, {"name", "ggml"}, {"version", version}};
}

}  // namespace

/// See answer_requests.
struct Ggml {
  Json greeting() const { return ::greeting(); }
  Json prepare(const Json& request) {
    ready = ::prepare(request);
    Json offer = {{"call", ready->call}, {"output_policy", "preallocated"}};
    if (ready->tolerance) offer["tolerance"] = *ready->tolerance;
    return offer;
  }
  void forget() { ready.reset(); }
  bool is_ready() const { return ready.has_value(); }
  double run(std::uint64_t calls) { return ready->graph->run(calls); }
  void write_outputs(const Json& outputs) { ::write_outputs(*ready->graph->result(), outputs); }

  std::optional<Ready> ready;
};

int main() {
  Ggml peer;
  return answer_requests("ggml_peer", peer);
}
