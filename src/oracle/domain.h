// What the evaluator asks of a domain: numbers today, symbols as well, without a change to the evaluator.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/element_type.h"
#include "ir/program.h"

namespace lanefold::oracle {

/// A run of values: value i lies at data[i · stride]. Stride 0 is one value for all i.
template <class Value>
struct Lanes {
  const Value* data = nullptr;
  std::ptrdiff_t stride = 1;

  const Value& operator[](std::int64_t i) const { return data[i * stride]; }
  /// The run that starts `count` values later.
  Lanes from(std::int64_t count) const { return {data + count * stride, stride}; }
};

/// An operation with its types. `operand_type` is the type of the operands that carry the data: the first one, or for
/// select the second.
struct Operation {
  ir::Op op = ir::Op::constant;
  ElementType type = ElementType::f32;
  ElementType operand_type = ElementType::f32;
};

/// Where an element comes from; numbers read the address, symbols may name the place.
struct Source {
  std::uint32_t input = 0;
  std::int64_t row = 0;
  std::int64_t col = 0;
  ElementType storage = ElementType::f32;
  const std::byte* address = nullptr;
};

/// A domain computes with values of f32, i32 and boolean meaning; which one a value has is known from the program.
///   constant(literal, type)            a literal of the program, or an exact integer such as the number of columns
///   parameter(index, value)            a parameter of the program
///   load(source)                       an input's element, widened to its register type
///   pick(run, count, index, type)      run[index], or what the type gives outside [0, count): NaN for f32, 0 for i32
///   apply(operation, operands, n, out) out[i] = operation(operands[0][i], …) for i < n; out overlaps no operand
/// A domain that knows the merge of argmax and argmin as one operation offers it too:
///   merge_arg(monoid, v, i, v', i')    the value and index that the merge keeps
template <class D>
concept Domain =
    requires(D domain, typename D::Value value, typename D::Value* out, const Lanes<typename D::Value>* operands,
             Operation operation, Source source, ElementType type, std::int64_t count) {
      { domain.constant(double{}, type) } -> std::same_as<typename D::Value>;
      { domain.parameter(std::uint32_t{}, float{}) } -> std::same_as<typename D::Value>;
      { domain.load(source) } -> std::same_as<typename D::Value>;
      { domain.pick(operands[0], count, value, type) } -> std::same_as<typename D::Value>;
      domain.apply(operation, operands, count, out);
    };

template <class D>
concept MergesArgs = requires(D domain, const std::string& monoid, typename D::Value value) {
  { domain.merge_arg(monoid, value, value, value, value) } -> std::same_as<std::array<typename D::Value, 2>>;
};

}  // namespace lanefold::oracle
