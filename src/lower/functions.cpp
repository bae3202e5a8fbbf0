#include "lower/functions.h"

#include "ir/names.h"
#include "lower/expression.h"

namespace lanefold::lower {
namespace {

constexpr ElementType kF32 = ElementType::f32;
constexpr ElementType kI32 = ElementType::i32;

/// Emits portable steps as lane operations.
struct LaneDomain {
  using Value = ValueId;
  lane::Builder& builder;

  ValueId constant_f32(std::uint32_t bits) { return builder.constant(kF32, bits); }
  ValueId constant_i32(std::uint32_t bits) { return builder.constant(kI32, bits); }
  ValueId apply(math::StepOp op, ValueId a, ValueId b, ValueId c) {
    using S = math::StepOp;
    using L = lane::Op;
    switch (op) {
      case S::add:
      case S::iadd: return builder.binary(L::add, a, b);
      case S::sub:
      case S::isub: return builder.binary(L::sub, a, b);
      case S::mul:
      case S::imul: return builder.binary(L::mul, a, b);
      case S::div: return builder.binary(L::div, a, b);
      case S::fma: return builder.ternary(L::fma, a, b, c);
      case S::neg: return builder.unary(L::neg, a);
      case S::abs: return builder.unary(L::abs, a);
      case S::sqrt: return builder.unary(L::sqrt, a);
      case S::trunc: return builder.unary(L::trunc, a);
      case S::lt:
      case S::ilt: return builder.binary(L::lt, a, b);
      case S::le: return builder.binary(L::le, a, b);
      case S::gt:
      case S::igt: return builder.binary(L::gt, a, b);
      case S::ge: return builder.binary(L::ge, a, b);
      case S::eq:
      case S::ieq: return builder.binary(L::eq, a, b);
      case S::ne: return builder.binary(L::ne, a, b);
      case S::select: return builder.ternary(L::select, a, b, c);
      case S::iand: return builder.binary(L::bit_and, a, b);
      case S::ior: return builder.binary(L::bit_or, a, b);
      case S::ixor: return builder.binary(L::bit_xor, a, b);
      case S::ishl: return builder.binary(L::shift_left, a, b);
      case S::ishr: return builder.binary(L::shift_right, a, b);
      case S::to_i32: return builder.convert(a, kI32);
      case S::to_f32: return builder.convert(a, kF32);
      case S::bits_of: return builder.bitcast(a, kI32);
      case S::from_bits: return builder.bitcast(a, kF32);
      case S::constant_f32:
      case S::constant_i32: break;
    }
    internal_error("a constant step reached apply()");
  }
};

std::vector<ElementType> state_types(const ir::Monoid& monoid, bool flagged) {
  std::vector<ElementType> types;
  if (flagged) types.push_back(ElementType::boolean);
  for (const ir::Field& field : monoid.state) types.push_back(field.type);
  return types;
}

}  // namespace

std::uint32_t FunctionTable::define(
    const std::string& name, const std::vector<ElementType>& parameters,
    const std::function<std::vector<ValueId>(lane::Builder&, std::span<const ValueId>)>& body) {
  lane::Function function;
  function.name = name;
  function.parameters = parameters;
  function.types = parameters;
  std::vector<ValueId> arguments;
  for (std::uint32_t i = 0; i < parameters.size(); ++i) arguments.push_back(i);
  lane::Builder builder(function.types, function.body);
  function.returns = body(builder, arguments);
  module_->functions.push_back(std::move(function));
  const auto index = static_cast<std::uint32_t>(module_->functions.size() - 1);
  by_name_[name] = index;
  return index;
}

std::vector<ElementType> FunctionTable::result_types(std::uint32_t function) const {
  const lane::Function& f = module_->functions[function];
  std::vector<ElementType> types;
  for (ValueId v : f.returns) types.push_back(f.types[v]);
  return types;
}

ValueId FunctionTable::call(lane::Builder& builder, math::Function function, ValueId argument) {
  const std::string name(math::function_name(function));
  auto found = by_name_.find(name);
  const std::uint32_t index =
      found != by_name_.end() ? found->second : define(name, {kF32}, [&](lane::Builder& b, std::span<const ValueId> x) {
        LaneDomain domain{b};
        return std::vector<ValueId>{math::evaluate(function, domain, x[0])};
      });
  return builder.call(index, std::array{argument}, std::array{kF32})[0];
}

ValueId FunctionTable::round(lane::Builder& builder, ValueId argument) {
  auto found = by_name_.find("round");
  const std::uint32_t index =
      found != by_name_.end()
          ? found->second
          : define("round", {kF32}, [&](lane::Builder& b, std::span<const ValueId> x) {
              // Away from zero where the part cut off is at least one half; NaN stays NaN by the subtraction.
              const ValueId t = b.unary(lane::Op::trunc, x[0]);
              const ValueId part = b.unary(lane::Op::abs, b.sub(x[0], t));
              const ValueId half = b.binary(lane::Op::ge, part, b.f32(0.5f));
              const ValueId sign = b.binary(lane::Op::bit_and, b.bitcast(x[0], kI32), b.i32(INT32_MIN));
              const ValueId one = b.bitcast(b.binary(lane::Op::bit_or, sign, b.i32(0x3f800000)), kF32);
              return std::vector<ValueId>{b.ternary(lane::Op::select, half, b.add(t, one), t)};
            });
  return builder.call(index, std::array{argument}, std::array{kF32})[0];
}

ValueId FunctionTable::quantize(lane::Builder& builder, ValueId n, ValueId d) {
  auto found = by_name_.find("quantize");
  std::uint32_t index = 0;
  if (found != by_name_.end()) {
    index = found->second;
  } else {
    if (!by_name_.contains("round")) {
      // Functions call only earlier ones, so round must exist before quantize begins.
      lane::Function scratch;
      scratch.types = {kF32};
      lane::Builder b(scratch.types, scratch.body);
      round(b, 0);
    }
    index = define("quantize", {kF32, kF32}, [&](lane::Builder& b, std::span<const ValueId> x) {
      const ValueId q = round(b, b.binary(lane::Op::div, x[0], x[1]));
      const ValueId low = b.binary(lane::Op::lt, q, b.f32(-127.0f));
      const ValueId high = b.binary(lane::Op::gt, q, b.f32(127.0f));
      const ValueId clamped =
          b.ternary(lane::Op::select, low, b.f32(-127.0f), b.ternary(lane::Op::select, high, b.f32(127.0f), q));
      const ValueId number = b.binary(lane::Op::eq, q, q);
      const ValueId scaled = b.binary(lane::Op::ne, x[1], b.f32(0.0f));
      const ValueId good = b.binary(lane::Op::bit_and, number, scaled);
      return std::vector<ValueId>{b.convert(b.ternary(lane::Op::select, good, clamped, b.f32(0.0f)), kI32)};
    });
  }
  return builder.call(index, std::array{n, d}, std::array{kI32})[0];
}

std::vector<ValueId> FunctionTable::step(lane::Builder& builder, const ir::Monoid& monoid,
                                         std::span<const ValueId> state, std::span<const ValueId> element) {
  std::vector<ValueId> parameters(state.begin(), state.end());
  if (ir::takes_column_index(monoid)) {
    const std::vector<ValueId> lifted = emit_body(monoid.lift, element, builder, *this);
    parameters.insert(parameters.end(), lifted.begin(), lifted.end());
    return builder.call(merge(monoid, false), parameters, state_types(monoid, false));
  }
  parameters.insert(parameters.end(), element.begin(), element.end());
  return emit_body(monoid.step, parameters, builder, *this);
}

std::vector<ValueId> FunctionTable::step_ascending(lane::Builder& builder, const ir::Monoid& monoid,
                                                   std::span<const ValueId> state, std::span<const ValueId> element) {
  const bool most = monoid.name == "argmax";
  if (!monoid.builtin || (!most && monoid.name != "argmin")) return step(builder, monoid, state, element);
  const std::string name = "step_" + monoid.name;
  const std::array types = {kF32, kI32};
  const auto found = by_name_.find(name);
  const std::uint32_t index =
      found != by_name_.end()
          ? found->second
          : define(name, {kF32, kI32, kF32, kI32}, [&](lane::Builder& b, std::span<const ValueId> x) {
              // Greater, or the first NaN. A NaN that is held stays.
              const ValueId no_better = b.binary(most ? lane::Op::le : lane::Op::ge, x[2], x[0]);
              const ValueId number = b.binary(lane::Op::eq, x[0], x[0]);
              const ValueId taken = b.binary(lane::Op::bit_and, b.unary(lane::Op::bit_not, no_better), number);
              return std::vector<ValueId>{b.ternary(lane::Op::select, taken, x[2], x[0]),
                                          b.ternary(lane::Op::select, taken, x[3], x[1])};
            });
  std::vector<ValueId> arguments(state.begin(), state.end());
  const std::vector<ValueId> lifted = emit_body(monoid.lift, element, builder, *this);
  arguments.insert(arguments.end(), lifted.begin(), lifted.end());
  return builder.call(index, arguments, types);
}

std::uint32_t FunctionTable::merge(const ir::Monoid& monoid, bool flagged) {
  const std::string name = "merge_" + monoid.name + (flagged ? "_present" : "");
  if (auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  const std::vector<ElementType> state = state_types(monoid, flagged);
  std::vector<ElementType> parameters = state;
  parameters.insert(parameters.end(), state.begin(), state.end());
  // A body may need helpers, and functions call only earlier ones: emit it once into a scratch function first.
  {
    lane::Function scratch;
    scratch.types = parameters;
    lane::Builder b(scratch.types, scratch.body);
    std::vector<ValueId> states;
    for (std::uint32_t side = 0; side < 2; ++side)
      for (std::uint32_t i = flagged; i < state.size(); ++i)
        states.push_back(static_cast<ValueId>(side * state.size() + i));
    emit_body(monoid.merge, states, b, *this);
  }
  return define(name, parameters, [&](lane::Builder& b, std::span<const ValueId> x) {
    const std::size_t half = state.size();
    std::vector<ValueId> states;
    for (std::size_t side = 0; side < 2; ++side)
      for (std::size_t i = flagged; i < half; ++i) states.push_back(x[side * half + i]);
    std::vector<ValueId> merged = emit_body(monoid.merge, states, b, *this);
    if (!flagged) return merged;
    // Presence is a prefix of the virtual lanes, so a present right side has a present left side.
    std::vector<ValueId> results{x[0]};
    for (std::size_t i = 0; i < merged.size(); ++i)
      results.push_back(b.ternary(lane::Op::select, x[half], merged[i], x[1 + i]));
    return results;
  });
}

}  // namespace lanefold::lower
