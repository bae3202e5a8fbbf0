// For tests: small programs put together by hand, their bindings, and the results as numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/load_store.h"
#include "ir/program.h"
#include "oracle/oracle.h"

namespace lanefold::oracle::testing {

inline constexpr ir::Kind kUniform{ir::Kind::Tag::uniform, 0};
inline constexpr ir::Kind kRow{ir::Kind::Tag::row, 0};
inline constexpr ir::Kind kColumn{ir::Kind::Tag::column, 0};
inline constexpr ir::Kind kElement{ir::Kind::Tag::element, 0};

/// Straight-line code, value by value.
class Writer {
 public:
  explicit Writer(std::vector<ir::Value>& values) : values_(values) {}

  ir::ValueId add(ir::Op op, ElementType type, ir::Kind kind, std::vector<ir::ValueId> operands,
                  std::uint32_t index = 0, std::uint32_t component = 0, double literal = 0) {
    ir::Value value;
    value.op = op, value.type = type, value.kind = kind, value.operands = std::move(operands);
    value.index = index, value.component = component, value.literal = literal;
    values_.push_back(value);
    return static_cast<ir::ValueId>(values_.size() - 1);
  }
  ir::ValueId constant(double literal, ElementType type = ElementType::f32) {
    return add(ir::Op::constant, type, kUniform, {}, 0, 0, literal);
  }
  /// An f32 element operation.
  ir::ValueId real(ir::Op op, std::vector<ir::ValueId> operands, ir::Kind kind = kElement) {
    return add(op, ElementType::f32, kind, std::move(operands));
  }

 private:
  std::vector<ir::Value>& values_;
};

/// A program with its bindings; inputs own their storage.
struct Case {
  ir::Program program;
  Bindings bindings;
  std::deque<std::vector<std::byte>> memory;

  Case(std::int64_t rows, std::int64_t cols) { program.name = "case", bindings.rows = rows, bindings.cols = cols; }

  Writer write() { return Writer(program.values); }

  /// Adds an input whose elements are the numbers, narrowed to the storage type, rows side by side.
  ir::ValueId input(const std::string& name, ElementType storage, ir::Kind kind, const std::vector<double>& numbers) {
    ir::Input declared;
    declared.name = name, declared.storage = storage, declared.kind = kind;
    program.inputs.push_back(declared);
    std::vector<std::byte>& bytes = memory.emplace_back(numbers.size() * element_bytes(storage));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::byte* at = bytes.data() + i * element_bytes(storage);
      if (is_float(storage)) {
        store_element(at, storage, static_cast<float>(numbers[i]));
      } else {
        store_integer(at, storage, static_cast<std::int64_t>(numbers[i]));
      }
    }
    const std::int64_t cols = kind == kRow ? 1 : store_cols(kind, bindings.cols);
    bindings.inputs.push_back({bytes.data(), storage, kind == kColumn ? 1 : bindings.rows, cols,
                               kind == kColumn ? 0 : cols, kind == kRow ? 0 : 1});
    const auto index = static_cast<std::uint32_t>(program.inputs.size() - 1);
    return write().add(ir::Op::input, register_type(storage), kind, {}, index);
  }
  ir::ValueId input(const std::string& name, const std::vector<double>& numbers) {
    return input(name, ElementType::f32, kElement, numbers);
  }

  /// Adds a fold and the value of its first result; further results by write().add(fold_result, …).
  ir::ValueId fold(const ir::Monoid& monoid, std::vector<ir::ValueId> arguments, std::uint32_t block = 0,
                   ElementType type = ElementType::f32) {
    program.monoids.push_back(monoid);
    program.folds.push_back({static_cast<std::uint32_t>(program.monoids.size() - 1), block, std::move(arguments), {}});
    const ir::Kind kind = block == 0 ? kRow : ir::Kind{ir::Kind::Tag::block, block};
    return write().add(ir::Op::fold_result, type, kind, {}, static_cast<std::uint32_t>(program.folds.size() - 1));
  }

  void store(const std::string& name, ElementType storage, ir::Kind kind, ir::ValueId value) {
    ir::Store declared;
    declared.name = name, declared.storage = storage, declared.kind = kind, declared.value = value;
    program.stores.push_back(declared);
  }
  void store(const std::string& name, ir::ValueId value) {
    const ir::Value& stored = program.values.at(value);
    const ir::Kind kind = stored.kind == kUniform ? kRow : stored.kind == kColumn ? kElement : stored.kind;
    store(name, stored.type, kind, value);
  }

  std::vector<double> fp64(std::size_t store = 0) const { return evaluate_fp64(program, bindings).at(store); }
  std::vector<std::byte> bytes(ir::Order order, std::size_t store = 0) const {
    return evaluate_exact(program, bindings, order).at(store);
  }
  /// The exact results of a store as elements of T.
  template <class T = float>
  std::vector<T> exact(ir::Order order = ir::Order::canonical, std::size_t store = 0) const {
    const std::vector<std::byte> raw = bytes(order, store);
    std::vector<T> elements(raw.size() / sizeof(T));
    if (!raw.empty()) std::memcpy(elements.data(), raw.data(), raw.size());
    return elements;
  }
};

/// A monoid whose state is its element and whose step and merge are the one operation: sums, products, maxima.
inline ir::Monoid plain_monoid(ir::Op op, ElementType type = ElementType::f32) {
  ir::Monoid monoid;
  monoid.name = "plain";
  monoid.element = {{"x", type}};
  monoid.state = {{"s", type}};
  Writer lift(monoid.lift.values), step(monoid.step.values), merge(monoid.merge.values), finish(monoid.finish.values);
  monoid.lift.results = {lift.add(ir::Op::parameter, type, kUniform, {}, 0)};
  monoid.finish.results = {finish.add(ir::Op::parameter, type, kUniform, {}, 0)};
  for (auto [body, results] : {std::pair{&step, &monoid.step.results}, std::pair{&merge, &monoid.merge.results}}) {
    const ir::ValueId left = body->add(ir::Op::parameter, type, kUniform, {}, 0);
    const ir::ValueId right = body->add(ir::Op::parameter, type, kUniform, {}, 1);
    *results = {body->add(op, type, kUniform, {left, right})};
  }
  return monoid;
}

/// Affine maps x ↦ a·x + b under composition, left map first: associative, not commutative. Results: a and b.
inline ir::Monoid affine_monoid() {
  ir::Monoid monoid;
  monoid.name = "affine";
  monoid.element = monoid.state = {{"a", ElementType::f32}, {"b", ElementType::f32}};
  for (ir::Body* body : {&monoid.lift, &monoid.finish}) {
    Writer writer(body->values);
    for (std::uint32_t k : {0u, 1u})
      body->results.push_back(writer.add(ir::Op::parameter, ElementType::f32, kUniform, {}, k));
  }
  for (ir::Body* body : {&monoid.step, &monoid.merge}) {
    Writer writer(body->values);
    std::vector<ir::ValueId> p;
    for (std::uint32_t k : {0u, 1u, 2u, 3u})
      p.push_back(writer.add(ir::Op::parameter, ElementType::f32, kUniform, {}, k));
    const ir::ValueId scaled = writer.real(ir::Op::mul, {p[2], p[1]}, kUniform);
    body->results = {writer.real(ir::Op::mul, {p[0], p[2]}, kUniform),
                     writer.real(ir::Op::add, {scaled, p[3]}, kUniform)};
  }
  return monoid;
}

/// Numbers with varied exponents and signs, the same for the same seed.
inline std::vector<double> varied_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<double> numbers;
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    const auto mantissa = static_cast<float>(static_cast<std::int32_t>(state)) / 2147483648.0f;
    numbers.push_back(static_cast<double>(std::ldexp(mantissa, static_cast<int>(state % 11) - 5)));
  }
  return numbers;
}

inline std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace lanefold::oracle::testing
