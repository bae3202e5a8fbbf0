#include "lower/expression.h"

namespace lanefold::lower {
namespace {

lane::Op lane_op(ir::Op op) {
  switch (op) {
    case ir::Op::neg: return lane::Op::neg;
    case ir::Op::logical_not: return lane::Op::bit_not;
    case ir::Op::abs: return lane::Op::abs;
    case ir::Op::sqrt: return lane::Op::sqrt;
    case ir::Op::trunc: return lane::Op::trunc;
    case ir::Op::add: return lane::Op::add;
    case ir::Op::sub: return lane::Op::sub;
    case ir::Op::mul: return lane::Op::mul;
    case ir::Op::div: return lane::Op::div;
    case ir::Op::min: return lane::Op::min;
    case ir::Op::max: return lane::Op::max;
    case ir::Op::lt: return lane::Op::lt;
    case ir::Op::le: return lane::Op::le;
    case ir::Op::gt: return lane::Op::gt;
    case ir::Op::ge: return lane::Op::ge;
    case ir::Op::eq: return lane::Op::eq;
    case ir::Op::ne: return lane::Op::ne;
    case ir::Op::logical_and: return lane::Op::bit_and;
    case ir::Op::logical_or: return lane::Op::bit_or;
    case ir::Op::fma: return lane::Op::fma;
    case ir::Op::select: return lane::Op::select;
    default: internal_error("operation " + std::string(ir::op_name(op)) + " has no lane operation");
  }
}

}  // namespace

ValueId emit_literal(lane::Builder& builder, ElementType type, double literal) {
  switch (type) {
    case ElementType::f32: return builder.f32(static_cast<float>(literal));
    case ElementType::i32: return builder.i32(static_cast<std::int32_t>(literal));
    case ElementType::boolean: return builder.boolean(literal != 0);
    default: internal_error("a literal of type " + std::string(element_name(type)));
  }
}

ValueId emit_operation(const ir::Value& value, std::span<const ValueId> operands, lane::Builder& builder,
                       FunctionTable& functions) {
  switch (value.op) {
    case ir::Op::constant: return emit_literal(builder, value.type, value.literal);
    case ir::Op::exp: return functions.call(builder, math::Function::exp, operands[0]);
    case ir::Op::log: return functions.call(builder, math::Function::log, operands[0]);
    case ir::Op::tanh: return functions.call(builder, math::Function::tanh, operands[0]);
    case ir::Op::sigmoid: return functions.call(builder, math::Function::sigmoid, operands[0]);
    case ir::Op::erf: return functions.call(builder, math::Function::erf, operands[0]);
    case ir::Op::round: return functions.round(builder, operands[0]);
    case ir::Op::quantize: return functions.quantize(builder, operands[0], operands[1]);
    case ir::Op::convert:
      if (builder.type(operands[0]) == value.type) return operands[0];
      if (builder.type(operands[0]) == ElementType::boolean && value.type == ElementType::f32)
        return builder.convert(builder.convert(operands[0], ElementType::i32), ElementType::f32);
      if (value.type == ElementType::boolean) {
        const ValueId zero = emit_literal(builder, builder.type(operands[0]), 0);
        return builder.binary(lane::Op::ne, operands[0], zero);
      }
      return builder.convert(operands[0], value.type);
    case ir::Op::abs:
      if (builder.type(operands[0]) == ElementType::i32)
        return builder.binary(lane::Op::max, operands[0], builder.unary(lane::Op::neg, operands[0]));
      break;
    default: break;
  }
  switch (operands.size()) {
    case 1: return builder.unary(lane_op(value.op), operands[0]);
    case 2: return builder.binary(lane_op(value.op), operands[0], operands[1]);
    case 3: return builder.ternary(lane_op(value.op), operands[0], operands[1], operands[2]);
    default: internal_error("operation " + std::string(ir::op_name(value.op)) + " with no operands");
  }
}

std::vector<ValueId> emit_body(const ir::Body& body, std::span<const ValueId> parameters, lane::Builder& builder,
                               FunctionTable& functions) {
  std::vector<ValueId> values;
  values.reserve(body.values.size());
  for (const ir::Value& value : body.values) {
    if (value.op == ir::Op::parameter) {
      values.push_back(parameters[value.index]);
      continue;
    }
    std::vector<ValueId> operands;
    for (ir::ValueId operand : value.operands) operands.push_back(values[operand]);
    values.push_back(emit_operation(value, operands, builder, functions));
  }
  std::vector<ValueId> results;
  for (ir::ValueId result : body.results) results.push_back(values[result]);
  return results;
}

}  // namespace lanefold::lower
