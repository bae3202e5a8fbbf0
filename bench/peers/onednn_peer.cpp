// oneDNN 2.x on the CPU as a peer: softmax and layer_norm in f32 and bf16. README.md describes the protocol.
#include <omp.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>

#include "peers/peer_loop.h"

namespace {

using Json = nlohmann::json;
using dnnl::memory;

/// Why a case is declined.
std::vector<char> read_file(const std::string& path, std::size_t bytes) {
  std::vector<char> contents(bytes);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(contents.data(), static_cast<std::streamsize>(bytes)) || file.peek() != EOF)
    throw std::runtime_error("the input " + path + " is not of " + std::to_string(bytes) + " bytes");
  return contents;
}

/// A case: its memory and the primitive that computes it.
class Prepared {
 public:
  explicit Prepared(const Json& what)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_), rows_(what.at("rows")), cols_(what.at("cols")) {
    const std::string op = what.at("op"), dtype = what.at("dtype");
    if (op != "softmax" && op != "layer_norm") throw Declined("this peer has no " + op);
    if (dtype != "f32" && dtype != "bf16") throw Declined("this peer has no " + dtype);
    // The primitive is made for this many threads, so it is told before.
    omp_set_num_threads(what.at("threads"));
    const memory::desc matrix({rows_, cols_}, dtype == "f32" ? memory::data_type::f32 : memory::data_type::bf16,
                              memory::format_tag::ab);
    memory source(matrix, engine_);
    target_ = memory(matrix, engine_);
    const std::vector<char> x = read_file(input(what, "x")->at("file"), matrix.get_size());
    std::memcpy(source.get_data_handle(), x.data(), x.size());
    std::memset(target_.get_data_handle(), 0xff, matrix.get_size());  // NaN: what is not computed shows
    try {
      if (op == "softmax") {
        const dnnl::softmax_forward::desc wanted(dnnl::prop_kind::forward_inference, matrix, 1);
        primitive_ = dnnl::softmax_forward(dnnl::softmax_forward::primitive_desc(wanted, engine_));
      } else {
        const Json& parameters = what.at("parameters");
        const dnnl::layer_normalization_forward::desc wanted(
            dnnl::prop_kind::forward_inference, matrix, parameters.value("eps", 1e-5f),
            dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
        primitive_ =
            dnnl::layer_normalization_forward(dnnl::layer_normalization_forward::primitive_desc(wanted, engine_));
        arguments_[DNNL_ARG_SCALE] = column(what, "weight", 1.0f, parameters.value("offset", 0.0f));
        arguments_[DNNL_ARG_SHIFT] = column(what, "bias", -0.0f, 0.0f);
      }
    } catch (const dnnl::error& error) {
      throw Declined("oneDNN has no " + op + " in " + dtype + " for this processor: " + error.what());
    }
    arguments_[DNNL_ARG_SRC] = source;
    arguments_[DNNL_ARG_DST] = target_;
  }

  /// ns of so many calls.
  double run(std::uint64_t calls) {
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) primitive_.execute(stream_, arguments_);
    stream_.wait();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  }

  void write_output(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    file.write(static_cast<const char*>(target_.get_data_handle()),
               static_cast<std::streamsize>(target_.get_desc().get_size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
  }

 private:
  static const Json* input(const Json& what, const std::string& name) {
    for (const Json& entry : what.at("inputs"))
      if (entry.at("name") == name) return &entry;
    return nullptr;
  }

  /// A [cols] vector plus `offset`. oneDNN takes scale and shift in f32 whatever the type of the matrix.
  memory column(const Json& what, const std::string& name, float otherwise, float offset) const {
    memory result({{cols_}, memory::data_type::f32, memory::format_tag::a}, engine_);
    float* values = static_cast<float*>(result.get_data_handle());
    const Json* entry = input(what, name);
    if (entry == nullptr) {
      for (std::int64_t c = 0; c < cols_; ++c) values[c] = otherwise;
    } else if (entry->at("type") == "f32") {
      const std::vector<char> bytes = read_file(entry->at("file"), static_cast<std::size_t>(cols_) * 4);
      std::memcpy(values, bytes.data(), bytes.size());
    } else if (entry->at("type") == "bf16") {
      const std::vector<char> bytes = read_file(entry->at("file"), static_cast<std::size_t>(cols_) * 2);
      for (std::int64_t c = 0; c < cols_; ++c) {
        std::uint16_t upper = 0;
        std::memcpy(&upper, bytes.data() + 2 * c, 2);
        const std::uint32_t bits = static_cast<std::uint32_t>(upper) << 16;
        std::memcpy(values + c, &bits, 4);
      }
    } else {
      throw Declined("this peer takes no " + name + " of that type");
    }
    if (offset != 0)
      for (std::int64_t c = 0; c < cols_; ++c) values[c] += offset;
    return result;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  memory::dim rows_, cols_;
  memory target_;
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
};

Json greeting() {
  const dnnl_version_t* version = dnnl_version();
  return {{"protocol", 1},
          {"name", "onednn"},
          {"version", std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                          std::to_string(version->patch)}};
}

}  // namespace

/// See answer_requests.
struct OneDnn {
  Json greeting() const { return ::greeting(); }
  Json prepare(const Json& request) {
    prepared.emplace(request);
    return {{"call", "dnnl::primitive::execute"}, {"output_policy", "preallocated"}};
  }
  void forget() { prepared.reset(); }
  bool is_ready() const { return prepared.has_value(); }
  double run(std::uint64_t calls) { return prepared->run(calls); }
  void write_outputs(const Json& outputs) { prepared->write_output(outputs.at(0)); }

  std::optional<Prepared> prepared;
};

int main() {
  OneDnn peer;
  return answer_requests("onednn_peer", peer);
}
