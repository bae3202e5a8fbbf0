// Types and kinds of operations: the one set of rules, which builder, parser and verifier share.
#pragma once

#include <span>

#include "ir/program.h"

namespace lanefold::ir {

struct ValueType {
  ElementType type = ElementType::f32;
  Kind kind;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// Whether a value of kind `from` can stand where one of kind `to` is wanted.
bool broadcasts(Kind from, Kind to);

/// What the operation gives on operands of these types; the operands must already agree (no conversion happens here).
/// Diagnostics come without a place. Not for leaves, convert, gather and fold results.
Result<ValueType> infer(Op op, std::span<const ValueType> operands);
/// What a conversion gives; only between f32 and i32.
Result<ValueType> infer_convert(ElementType to, ValueType operand);
/// What gather gives on this input and index.
Result<ValueType> infer_gather(const Input& input, ValueType index);
/// What component `component` of a fold with this monoid gives.
ValueType fold_type(const Monoid& monoid, std::uint32_t component, const Fold& fold);

/// The number rounded to f32; one that lies outside f32's range stays as it is, for the verifier to refuse.
double as_f32(double value);
/// Whether a constant of this type can have this value.
bool is_literal(ElementType type, double value);

/// The types to which an operation brings its numeric operands before `infer`.
enum class Agreement : std::uint8_t {
  none,      ///< booleans: nothing is converted
  common,    ///< all of one type: f32 where any is f32, else i32
  branches,  ///< as `common`, for all but the first operand
  f32        ///< all f32
};
Agreement agreement(Op op);

}  // namespace lanefold::ir
