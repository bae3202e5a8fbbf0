#include "verify/symbol_domain.h"

#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/narrow.h"
#include "driver/call_check.h"
#include "oracle/evaluator.h"

namespace lanefold::verify {
namespace {

using machine::NodeId;

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
    case ir::Op::fma: return lane::Op::fma;
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
    case ir::Op::select: return lane::Op::select;
    default: internal_error("symbols: no meaning for " + std::string(ir::op_name(op)));
  }
}

std::int64_t row_stride(const ir::Input& input, std::int64_t cols) {
  switch (input.kind.tag) {
    case ir::Kind::Tag::element: return cols;
    case ir::Kind::Tag::block: return cols / input.kind.block;
    case ir::Kind::Tag::row: return 1;
    default: return 0;
  }
}

}  // namespace

NodeId SymbolDomain::constant(double literal, ElementType type) {
  switch (type) {
    case ElementType::f32: return symbols_.constant(type, std::bit_cast<std::uint32_t>(static_cast<float>(literal)));
    case ElementType::boolean: return symbols_.constant(type, literal != 0 ? 1 : 0);
    default: return symbols_.constant(type, static_cast<std::uint32_t>(static_cast<std::int32_t>(literal)));
  }
}

NodeId SymbolDomain::parameter(std::uint32_t index, float) {
  return symbols_.argument(machine::parameter_symbol(index), ElementType::f32);
}

NodeId SymbolDomain::load(const oracle::Source& source) {
  const ir::Input& input = program_.inputs[source.input];
  const auto bytes = static_cast<std::uint32_t>(element_bytes(source.storage));
  const std::int64_t element = source.row * row_strides_[source.input] + source.col;
  return symbols_.widen(source.storage, symbols_.input(input.name, element * bytes, bytes));
}

NodeId SymbolDomain::pick(const oracle::Lanes<NodeId>& run, std::int64_t count, const NodeId& index, ElementType type) {
  const std::optional<machine::Word> known = symbols_.constant_bits(index);
  if (!known) {
    open_index_ = true;
    return index;
  }
  const std::int64_t i = machine::from_word<std::int32_t>(*known);
  if (i >= 0 && i < count) return run[i];
  return symbols_.constant(type, type == ElementType::f32 ? kNanF32 : 0);
}

NodeId SymbolDomain::apply_one(const oracle::Operation& operation, const std::array<NodeId, 3>& operands,
                               std::size_t count) {
  using ir::Op;
  const auto convert = [&](ElementType from, ElementType to, NodeId value) {
    return symbols_.convert(from, to, value);
  };
  const ElementType from = operation.operand_type, to = operation.type;
  switch (operation.op) {
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::sigmoid:
    case Op::erf:
    case Op::round:
    case Op::quantize: return symbols_.call(ir::op_name(operation.op), std::span(operands.data(), count), 0, to);
    case Op::convert:
      if (from == to) return operands[0];
      if (from == ElementType::boolean && to == ElementType::f32)
        return convert(ElementType::i32, to, convert(from, ElementType::i32, operands[0]));
      if (to == ElementType::boolean)
        return symbols_.apply(lane::Op::ne, from, std::array{operands[0], symbols_.constant(from, 0)});
      return convert(from, to, operands[0]);
    case Op::abs:
      if (from == ElementType::i32)
        return symbols_.apply(lane::Op::max, from,
                              std::array{operands[0], symbols_.apply(lane::Op::neg, from, std::array{operands[0]})});
      break;
    default: break;
  }
  return symbols_.apply(lane_op(operation.op), from, std::span(operands.data(), count));
}

void SymbolDomain::apply(const oracle::Operation& operation, const oracle::Lanes<NodeId>* operands, std::int64_t count,
                         NodeId* out) {
  const std::size_t arity = operation.op == ir::Op::select || operation.op == ir::Op::fma ? 3
                            : ir::op_operands(operation.op) == 2                          ? 2
                                                                                          : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    std::array<NodeId, 3> given{};
    for (std::size_t k = 0; k < arity; ++k) given[k] = operands[k][i];
    out[i] = apply_one(operation, given, arity);
  }
}

Result<std::vector<std::vector<NodeId>>> canonical_outputs(machine::Symbols& symbols, const ir::Program& program,
                                                           ir::Order order, std::int64_t rows, std::int64_t cols,
                                                           std::int64_t row) {
  if (order == ir::Order::free)
    return Diagnostic{Code::prove_order_free,
                      fmt::format("{} is planned in the order free, which has no one meaning", program.name),
                      "plan it with --order canonical", program.name};
  std::vector<std::int64_t> strides;
  oracle::Bindings bindings;
  for (const ir::Input& input : program.inputs) {
    strides.push_back(row_stride(input, cols));
    const driver::Shape shape = driver::expected_shape(input.kind, rows, cols);
    bindings.inputs.push_back({nullptr, input.storage, shape.rows, shape.cols, 0, 0});
  }
  for (const ir::Parameter& parameter : program.parameters)
    bindings.parameters.push_back(static_cast<float>(parameter.value));
  bindings.rows = rows;
  bindings.cols = cols;
  SymbolDomain domain(symbols, program, std::move(strides));
  oracle::Evaluator<SymbolDomain> evaluator(program, bindings, order, domain);
  evaluator.evaluate_row(row);
  if (domain.open_index())
    return Diagnostic{Code::prove_gathers_by_data,
                      fmt::format("{} gathers at an index that depends on data", program.name),
                      "addresses must not depend on data where all inputs are meant", program.name};
  std::vector<std::vector<NodeId>> outputs;
  for (std::size_t s = 0; s < program.stores.size(); ++s) {
    const ir::Store& store = program.stores[s];
    const oracle::Lanes<NodeId> values = evaluator.stored(s);
    const ElementType type = program.values[store.value].type;
    std::vector<NodeId>& stored = outputs.emplace_back();
    for (std::int64_t c = 0; c < oracle::store_cols(store.kind, cols); ++c) {
      NodeId value = values[c];
      if (type == ElementType::boolean) value = symbols.convert(type, ElementType::i32, value);
      ElementType held = type == ElementType::boolean ? ElementType::i32 : type;
      if (held != register_type(store.storage)) value = symbols.convert(held, register_type(store.storage), value);
      // A store of f32 writes one NaN; the narrower types do so by themselves.
      if (store.storage == ElementType::f32)
        value = symbols.apply(lane::Op::canonical_nan, ElementType::f32, std::array{value});
      stored.push_back(symbols.narrow(store.storage, value));
    }
  }
  return outputs;
}

}  // namespace lanefold::verify
