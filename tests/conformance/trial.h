// One call of a program for tests: inputs that lie in memory as a placement says, poisoned outputs, and what came out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/load_store.h"
#include "driver/call_check.h"
#include "kernels/registry.h"
#include "oracle/oracle.h"
#include "verify/check.h"
#include "verify/cuda_device.h"
#include "verify/standard_inputs.h"

namespace lanefold::testing {

using Bytes = std::vector<std::byte>;

/// How buffers lie in memory.
enum class Placement : std::uint8_t {
  packed,        ///< no gaps, aligned
  odd,           ///< odd offsets and odd gaps between rows, of inputs and outputs
  every_second,  ///< every second column, of inputs and outputs
  one_row,       ///< all rows of an input are the same memory: row stride 0
  upwards        ///< rows of inputs stand in descending order: negative row stride
};
inline constexpr Placement kPlacements[] = {Placement::packed, Placement::odd, Placement::every_second,
                                            Placement::one_row, Placement::upwards};

/// Numbers in [0, 1), the same for the same seed on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}
  std::uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t mixed = (state_ ^ (state_ >> 29)) * 0xbf58476d1ce4e5b9u;
    return static_cast<std::uint32_t>(mixed >> 32);
  }
  std::uint32_t below(std::uint32_t bound) { return bits() % bound; }
  float unit() { return static_cast<float>(bits() >> 8) * 0x1p-24f; }
  float between(float low, float high) { return low + (high - low) * unit(); }

 private:
  std::uint64_t state_;
};

inline verify::MatrixLayout memory_layout(Placement placement, std::int64_t which) {
  switch (placement) {
    case Placement::odd: return {.row_gap = 2 * which + 3, .offset = 2 * which + 1};
    case Placement::every_second: return {.row_gap = 1, .offset = which, .column_stride = 2};
    case Placement::upwards: return {.row_gap = 5};
    default: return {};
  }
}

inline ir::Program operator_program(std::string_view name, ElementType storage = ElementType::f32) {
  return kernels::build(*kernels::find(name), storage).value();
}

/// Whether the program reads at columns that its inputs name; nothing can be proved of such a one.
inline bool gathers_by_data(const ir::Program& program) {
  return std::any_of(program.values.begin(), program.values.end(),
                     [](const ir::Value& value) { return value.op == ir::Op::gather; });
}

/// Inputs, parameters and sizes of a call. Inputs start as zeros.
class Trial {
 public:
  Trial(ir::Program program, std::int64_t rows, std::int64_t cols, Placement placement = Placement::packed)
      : program_(std::move(program)), placement_(placement), rows_(rows), cols_(cols) {
    parameters = verify::default_parameters(program_);
    for (const ir::Input& input : program_.inputs) {
      const driver::Shape shape = driver::expected_shape(input.kind, rows, cols);
      const bool single = placement == Placement::one_row && rows > 0;
      const auto& matrix = memory_.emplace_back(input.storage, single ? 1 : shape.rows, shape.cols,
                                                memory_layout(placement, static_cast<std::int64_t>(memory_.size())));
      View view = matrix.view();
      if (single) view.rows = shape.rows, view.row_stride = 0;
      if (placement == Placement::upwards && shape.rows > 0) {
        view.data = view.at(shape.rows - 1, 0);
        view.row_stride = -view.row_stride;
      }
      inputs.push_back(view);
      fill(inputs.size() - 1, [](std::int64_t, std::int64_t) { return 0.0f; });
    }
  }

  /// Fills input i by a function of row and column.
  template <class Function>
  void fill(std::size_t i, Function&& value) {
    for (std::int64_t r = 0; r < inputs[i].rows; ++r)
      for (std::int64_t c = 0; c < inputs[i].cols; ++c) set(i, r, c, value(r, c));
  }
  /// Fills all inputs with numbers from [low, high): i8 with integers from eight times that, i32 with column indices, of
  /// which some lie outside.
  void fill_random(std::uint64_t seed, float low, float high) {
    Numbers numbers(seed);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      fill(i, [&](std::int64_t, std::int64_t) {
        if (inputs[i].type == ElementType::i32)
          return static_cast<float>(numbers.below(static_cast<std::uint32_t>(cols_ + cols_ / 8 + 1)));
        const float number = numbers.between(low, high);
        return is_float(inputs[i].type) ? number : std::trunc(8 * number);
      });
  }
  void set(std::size_t i, std::int64_t r, std::int64_t c, float value) {
    std::byte* at = inputs[i].at(r, c);
    if (is_float(inputs[i].type)) {
      store_element(at, inputs[i].type, value);
    } else {
      store_integer(at, inputs[i].type, static_cast<std::int64_t>(value));
    }
  }
  /// Writes the bits of one element, so that a NaN keeps its payload.
  void set_bits(std::size_t i, std::int64_t r, std::int64_t c, std::uint32_t bits) {
    std::memcpy(inputs[i].at(r, c), &bits, element_bytes(inputs[i].type));
  }

  /// Runs into fresh, poisoned outputs that lie as the placement says, and checks that nothing else was written.
  Status run(verify::Device& device) {
    outputs_.clear();
    for (const ir::Store& store : program_.stores) {
      const driver::Shape shape = driver::expected_shape(store.kind, rows_, cols_);
      outputs_.emplace_back(store.storage, shape.rows, shape.cols,
                            memory_layout(placement_, static_cast<std::int64_t>(outputs_.size()) + 1));
    }
    const std::vector<View> out = verify::views(outputs_);
    const Status status =
        device.run({.inputs = inputs, .outputs = out, .parameters = parameters, .rows = rows_, .cols = cols_});
    for (std::size_t o = 0; o < outputs_.size(); ++o)
      EXPECT_TRUE(outputs_[o].sentinels_intact()) << program_.stores[o].name << " wrote beside its elements";
    for (std::size_t i = 0; i < memory_.size(); ++i)
      EXPECT_TRUE(memory_[i].sentinels_intact()) << program_.inputs[i].name << " was written beside its elements";
    return status;
  }
  Status run(const verify::DeviceOptions& options) {
    LANEFOLD_TRY(const std::unique_ptr<verify::Device> device, verify::open(program_, options));
    return run(*device);
  }

  /// What the last run stored, row by row without gaps.
  Bytes output(std::size_t o = 0) const { return outputs_.at(o).bytes(); }
  std::vector<Bytes> output_bytes() const {
    std::vector<Bytes> all;
    for (const verify::Matrix& matrix : outputs_) all.push_back(matrix.bytes());
    return all;
  }
  double value(std::size_t o, std::int64_t r, std::int64_t c = 0) const {
    const View view = outputs_.at(o).view();
    if (!is_float(view.type)) return static_cast<double>(load_element_integer(view.at(r, c), view.type));
    return load_element_f64(view.at(r, c), view.type);
  }
  std::uint32_t value_bits(std::size_t o, std::int64_t r, std::int64_t c = 0) const {
    std::uint32_t bits = 0;
    const View view = outputs_.at(o).view();
    std::memcpy(&bits, view.at(r, c), element_bytes(view.type));
    return bits;
  }
  /// Sets the parameter of that name, which the program has.
  void set_parameter(std::string_view name, float value) {
    std::size_t p = 0;
    while (program_.parameters.at(p).name != name) ++p;
    parameters.at(p) = value;
  }
  double row_sum(std::size_t o, std::int64_t r) const {
    double sum = 0;
    for (std::int64_t c = 0; c < outputs_.at(o).cols(); ++c) sum += value(o, r, c);
    return sum;
  }

  oracle::Bindings bindings() const {
    return {.inputs = inputs, .parameters = parameters, .rows = rows_, .cols = cols_};
  }
  std::vector<Bytes> exact(ir::Order order = ir::Order::canonical) const {
    return oracle::evaluate_exact(program_, bindings(), order);
  }
  verify::CheckReport compare(const verify::Tolerance& tolerance) const {
    return verify::compare(program_, bindings(), verify::views(outputs_), tolerance);
  }

  const ir::Program& program() const { return program_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

  std::vector<View> inputs;  ///< may be replaced by other views
  std::vector<float> parameters;

 private:
  ir::Program program_;
  Placement placement_;
  std::int64_t rows_, cols_;
  std::vector<verify::Matrix> memory_, outputs_;
};

/// The available devices of this build. LANEFOLD_TEST_DEVICE names the only one that is wanted, and that must be there.
inline std::vector<std::string> available_devices() {
  const char* wanted = std::getenv("LANEFOLD_TEST_DEVICE");
  std::vector<std::string> names;
  for (const verify::DeviceFact& fact : verify::devices())
    if (fact.available && (wanted == nullptr || fact.name == std::string_view(wanted))) names.emplace_back(fact.name);
  if (names.empty()) internal_error("tests: LANEFOLD_TEST_DEVICE names a device that is not there");
  return names;
}

inline bool has_device(std::string_view name) {
  const std::vector<std::string> all = available_devices();
  return std::find(all.begin(), all.end(), name) != all.end();
}
inline bool has_cpu() { return has_device("cpu"); }
inline bool has_cuda() { return has_device("cuda"); }

/// Options of a device that leaves no files behind, but where LANEFOLD_CACHE_DIR names a place for a GPU's code.
inline verify::DeviceOptions on_device(std::string device, ir::Order order = ir::Order::canonical) {
  verify::DeviceOptions options;
  options.device = std::move(device);
  options.order = order;
  options.disk_cache = options.device == "cuda" && std::getenv("LANEFOLD_CACHE_DIR") != nullptr;
  if (options.device == "cuda") options.target = verify::cuda_target().value();
  options.threads = 1;
  return options;
}

/// The first element in which two outputs differ, as text; empty where they are equal.
inline std::string difference(const ir::Program& program, const std::vector<Bytes>& got,
                              const std::vector<Bytes>& expected) {
  for (std::size_t o = 0; o < expected.size(); ++o) {
    if (got.at(o) == expected[o]) continue;
    const ElementType type = program.stores[o].storage;
    const std::size_t size = element_bytes(type);
    if (got[o].size() != expected[o].size()) return program.stores[o].name + " differs in size";
    const auto at = static_cast<std::size_t>(std::mismatch(got[o].begin(), got[o].end(), expected[o].begin()).first -
                                             got[o].begin());
    const std::size_t element = at / size;
    const auto text = [&](const Bytes& bytes) {
      const std::byte* from = bytes.data() + element * size;
      std::uint32_t bits = 0;
      std::memcpy(&bits, from, size);
      const double number =
          is_float(type) ? load_element_f64(from, type) : static_cast<double>(load_element_integer(from, type));
      return std::to_string(number) + " (bits " + std::to_string(bits) + ")";
    };
    return program.stores[o].name + " element " + std::to_string(element) + " is " + text(got[o]) + ", expected " +
           text(expected[o]);
  }
  return "";
}

}  // namespace lanefold::testing
