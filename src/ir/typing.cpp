#include "ir/typing.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace lanefold::ir {
namespace {

bool is_number(ElementType type) { return type == ElementType::f32 || type == ElementType::i32; }

Diagnostic mismatch(std::string message, std::string hint) {
  return {Code::type_mismatch, std::move(message), std::move(hint), ""};
}

/// The fault of an operand that is not of the wanted type.
Diagnostic wanted(Op op, std::size_t operand, std::string_view what, ElementType got) {
  const bool boolean = got == ElementType::boolean;
  return mismatch(
      fmt::format("operand {} of '{}' must be {}, and is {}", operand + 1, op_spelling(op), what, element_name(got)),
      boolean ? "select(condition, 1, 0) makes a number of a condition" : "a comparison makes a condition");
}

std::optional<Diagnostic> same_numbers(Op op, std::span<const ValueType> operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!is_number(operands[i].type)) return wanted(op, i, "a number", operands[i].type);
    if (operands[i].type != operands[0].type) {
      return mismatch(fmt::format("the operands of '{}' are {} and {}", op_spelling(op), element_name(operands[0].type),
                                  element_name(operands[i].type)),
                      "convert one of them: f32(x) or i32(x)");
    }
  }
  return std::nullopt;
}

std::optional<Diagnostic> all_of_type(Op op, std::span<const ValueType> operands, ElementType type) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].type != type) {
      return wanted(op, i, type == ElementType::boolean ? "a condition" : "an f32 number", operands[i].type);
    }
  }
  return std::nullopt;
}

}  // namespace

bool broadcasts(Kind from, Kind to) { return join(from, to) == to; }

double as_f32(double value) {
  const bool outside =
      std::isfinite(value) && std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max());
  return outside ? value : static_cast<double>(static_cast<float>(value));
}

bool is_literal(ElementType type, double value) {
  if (type == ElementType::boolean) return value == 0 || value == 1;
  if (type == ElementType::f32) return std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value;
  if (type == ElementType::i8) return value == std::trunc(value) && value >= -128 && value <= 127;
  return type == ElementType::i32 && value == std::trunc(value) && value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

Agreement agreement(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne: return Agreement::common;
    case Op::select: return Agreement::branches;
    case Op::sqrt:
    case Op::trunc:
    case Op::round:
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::sigmoid:
    case Op::erf:
    case Op::div:
    case Op::fma:
    case Op::quantize: return Agreement::f32;
    default: return Agreement::none;
  }
}

Result<ValueType> infer(Op op, std::span<const ValueType> operands) {
  if (operands.size() != op_operands(op)) {
    return Diagnostic{Code::wrong_argument_count,
                      fmt::format("'{}' takes {} argument{}, and has {}", op_spelling(op), op_operands(op),
                                  op_operands(op) == 1 ? "" : "s", operands.size()),
                      "", ""};
  }
  if (operands.empty()) internal_error(fmt::format("infer of the leaf '{}'", op_name(op)));
  ValueType result{operands[0].type, {}};
  for (const ValueType& operand : operands) result.kind = join(result.kind, operand.kind);
  std::optional<Diagnostic> fault;
  switch (op) {
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne:
      fault = same_numbers(op, operands);
      result.type = ElementType::boolean;
      break;
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or: fault = all_of_type(op, operands, ElementType::boolean); break;
    case Op::select:
      fault = all_of_type(op, operands.first(1), ElementType::boolean);
      if (!fault && operands[1].type != operands[2].type) {
        fault = mismatch(fmt::format("the two values of 'select' are {} and {}", element_name(operands[1].type),
                                     element_name(operands[2].type)),
                         "give both the same type");
      }
      result.type = operands[1].type;
      break;
    case Op::quantize:
      fault = all_of_type(op, operands, ElementType::f32);
      result.type = ElementType::i32;
      break;
    default:
      if (agreement(op) == Agreement::none) internal_error(fmt::format("infer of '{}'", op_name(op)));
      fault =
          agreement(op) == Agreement::f32 ? all_of_type(op, operands, ElementType::f32) : same_numbers(op, operands);
  }
  if (fault) return *fault;
  return result;
}

Result<ValueType> infer_convert(ElementType to, ValueType operand) {
  if (!is_number(to) || !is_number(operand.type)) {
    return mismatch(fmt::format("{} cannot be converted to {}", element_name(operand.type), element_name(to)),
                    "select(condition, 1, 0) makes a number of a condition");
  }
  return ValueType{to, operand.kind};
}

Result<ValueType> infer_gather(const Input& input, ValueType index) {
  using Tag = Kind::Tag;
  if (input.kind.tag != Tag::element && input.kind.tag != Tag::column) {
    return Diagnostic{Code::gather_source,
                      fmt::format("gather reads '{}', which has kind {}", input.name, kind_name(input.kind)),
                      "gather reads an input of shape [rows, cols] or [cols]", ""};
  }
  if (index.type != ElementType::i32) {
    return Diagnostic{Code::gather_index,
                      fmt::format("the index of gather must be i32, and is {}", element_name(index.type)),
                      index.type == ElementType::f32 ? "convert it: i32(x)" : "", ""};
  }
  if (index.kind.tag == Tag::column || index.kind.tag == Tag::block) {
    return Diagnostic{Code::gather_index, fmt::format("the index of gather has kind {}", kind_name(index.kind)),
                      "an index is uniform, or varies by row or by element", ""};
  }
  const bool by_row = input.kind.tag == Tag::element;
  return ValueType{register_type(input.storage), by_row ? join(index.kind, Kind{Tag::row, 0}) : index.kind};
}

ValueType fold_type(const Monoid& monoid, std::uint32_t component, const Fold& fold) {
  const Body& finish = monoid.finish;
  const Kind along = fold.block == 0 ? Kind{Kind::Tag::row, 0} : Kind{Kind::Tag::block, fold.block};
  const Kind kind = fold.axis == Axis::rows ? Kind{Kind::Tag::column, 0} : along;
  return {finish.values.at(finish.results.at(component)).type, kind};
}

}  // namespace lanefold::ir
