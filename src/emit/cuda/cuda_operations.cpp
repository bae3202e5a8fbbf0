// Types, literals and arithmetic in CUDA C++.
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "emit/cuda/cuda_dialect.h"
#include "lane/typing.h"

namespace lanefold::emit {

using lane::Op;
using lane::Statement;

std::string_view CudaDialect::type(ElementType type) const {
  switch (type) {
    case ElementType::boolean: return "bool";
    case ElementType::i32: return "int";
    case ElementType::i64: return "long long";
    default: return "float";
  }
}

std::string CudaDialect::storage_type(ElementType type) {
  switch (type) {
    case ElementType::i8: return "signed char";
    case ElementType::i32: return "int";
    case ElementType::i64: return "long long";
    case ElementType::f32: return "float";
    default: return std::string(helpers_.use(type == ElementType::boolean ? "boolean" : element_name(type)));
  }
}

Expression CudaDialect::constant(ElementType type, std::uint64_t bits) const {
  Expression literal;
  if (type == ElementType::boolean) {
    literal.text = bits != 0 ? "true" : "false";
  } else if (type == ElementType::f32) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(value)) {
      // The shortest decimal that is this number and no other.
      literal.text = fmt::format("{}", value);
      if (literal.text.find_first_of(".e") == std::string::npos) literal.text += ".0";
      literal.text += "f";
    } else {
      literal.text = fmt::format("__uint_as_float({:#x}u)", static_cast<std::uint32_t>(bits));
    }
  } else {
    const std::int64_t value = lane::integer_value(type, bits);
    literal.text = fmt::format("{}", value);
    if (type == ElementType::i32 && value == INT32_MIN) literal.text = "(-2147483647 - 1)";
    if (type == ElementType::i64 && (value > INT32_MAX || value <= INT32_MIN)) literal.text += "LL";
    if (type == ElementType::i64 && value == INT32_MIN) literal.text = "-2147483648LL";
    if (type == ElementType::i64 && value == INT64_MIN) literal.text = "(-9223372036854775807LL - 1)";
  }
  if (literal.text[0] == '-') literal.strength = Strength::unary;
  return literal;
}

std::string CudaDialect::argument(const Expression& value) const {
  if (value.type != ElementType::i64 || !value.is_narrow || value.text.ends_with("LL")) return value.text;
  return value.is_literal ? value.text + "LL" : fmt::format("static_cast<long long>({})", value.text);
}

Expression CudaDialect::helper(std::string_view name, std::initializer_list<std::string> arguments, ElementType type) {
  return {.text = fmt::format("{}({})", helpers_.use(name), fmt::join(arguments, ", ")), .type = type};
}

std::string CudaDialect::leaf(Op op) {
  switch (op) {
    case Op::lane: return "threadIdx.x % 32";
    case Op::simd_group: return "threadIdx.x / 32";
    case Op::threadgroup: return "blockIdx.x";
    default: return fmt::format("{}()", helpers_.use("cluster_rank"));
  }
}

namespace {

struct Operator {
  const char* text;
  Strength strength;
};

Operator operator_of(Op op, bool boolean) {
  switch (op) {
    case Op::add: return {"+", Strength::sum};
    case Op::sub: return {"-", Strength::sum};
    case Op::mul: return {"*", Strength::product};
    case Op::div: return {"/", Strength::product};
    case Op::rem: return {"%", Strength::product};
    // Of booleans too: && and || would branch around their right sides.
    case Op::bit_and: return {"&", Strength::bit_and};
    case Op::bit_or: return {"|", Strength::bit_or};
    case Op::bit_xor: return boolean ? Operator{"!=", Strength::equality} : Operator{"^", Strength::bit_xor};
    case Op::shift_left: return {"<<", Strength::shift};
    case Op::shift_right: return {">>", Strength::shift};
    case Op::lt: return {"<", Strength::relation};
    case Op::le: return {"<=", Strength::relation};
    case Op::gt: return {">", Strength::relation};
    case Op::ge: return {">=", Strength::relation};
    case Op::eq: return {"==", Strength::equality};
    case Op::ne: return {"!=", Strength::equality};
    default: internal_error("emit cuda: no operator for " + std::string(lane::op_name(op)));
  }
}

Expression prefix(char sign, const Expression& value) {
  std::string text = inside(value, Strength::unary);
  if (text[0] == sign) text = "(" + text + ")";
  return {.text = sign + text, .type = value.type, .strength = Strength::unary};
}

/// 1 / b as a literal where b is an odd integer that div_by divides by.
std::optional<std::string> reciprocal_of_odd(const Expression& b) {
  if (!b.is_literal || b.text.starts_with('-') || b.text.starts_with("__")) return std::nullopt;
  const float value = std::stof(b.text);
  if (value < 3.0f || value > 1048576.0f || std::fmod(value, 2.0f) != 1.0f) return std::nullopt;
  return fmt::format("{}f", 1.0f / value);
}

bool is_comparison(Op op) { return op >= Op::eq && op <= Op::ge; }

}  // namespace

Expression CudaDialect::operation(const Statement& s, std::span<const Expression> v, ElementType result,
                                  bool may_wrap) {
  switch (s.op) {
    case Op::select:
      if (std::optional<Expression> clamped = clamp(v)) return *clamped;
      return {.text = fmt::format("{} ? {} : {}", inside(v[0], Strength::either), inside(v[1], Strength::either),
                                  inside(v[2], Strength::either)),
              .type = result,
              .strength = Strength::choice,
              .is_narrow = result == ElementType::i64 && v[1].is_narrow && v[2].is_narrow};
    case Op::convert: return convert(v[0], result);
    case Op::bitcast:
      return {
          .text = fmt::format("{}({})", result == ElementType::i32 ? "__float_as_int" : "__int_as_float", v[0].text),
          .type = result};
    default: break;
  }
  if (v.back().type == ElementType::f32) return options_.fast ? real(s, v) : exact_real(s, v);
  if (is_comparison(s.op) || result == ElementType::boolean) {
    if (s.op == Op::bit_not) return prefix('!', v[0]);
    const Operator op = operator_of(s.op, v[0].type == ElementType::boolean);
    return infix(v[0], op.text, v[1], op.strength, ElementType::boolean);
  }
  return integer(s, v, result, may_wrap);
}

bool CudaDialect::own_statement(BodyWriter& writer, const Statement& s) {
  if (!writer.is_outermost()) return false;
  if (s.results == 1 && derived_.contains(s.result)) {
    std::array<Expression, 2> operands;
    for (std::size_t i = 0; i < operands.size(); ++i) operands[i] = writer.take_named(s.operands[i]);
    writer.give_in_each_sweep(s, 0, operation(s, operands, ElementType::f32, false));
    return true;
  }
  switch (s.op) {
    case Op::max:
    case Op::min: return pair_operation(writer, s);
    case Op::call: return leading_pairs(writer, s);
    case Op::select: return leading_pairs(writer, s) || choose_half(writer, s);
    case Op::fold_lanes: return leading_lane(writer, s);
    default: return false;
  }
}

/// The larger, or smaller, of halves of words is half of what one instruction does to both halves.
bool CudaDialect::pair_operation(BodyWriter& writer, const Statement& s) {
  const auto a = halves_.find(s.operands[0]), b = halves_.find(s.operands[1]);
  if (a == halves_.end() || b == halves_.end() || a->second.index != b->second.index) return false;
  const Half half = a->second;
  const char* name = s.op == Op::max ? "maximum_pair" : "minimum_pair";
  const std::string both = helper(name, {half.word, b->second.word}, ElementType::i32).text;
  for (const lane::ValueId v : s.operands) writer.take(v);
  auto known = pairs_.find(both);
  if (known == pairs_.end())
    known = pairs_.emplace(both, writer.declare("unsigned int", s.op == Op::max ? "larger_pair" : "smaller_pair", both))
                .first;
  halves_[s.result] = {known->second, half.index};
  writer.give_anywhere(s, 0, element_of_word(known->second, half.index, ElementType::bf16));
  return true;
}

/// A comparison with a constant that picks the constant or the number itself is one instruction of the device: the same bits,
/// unless the constant is a zero.
std::optional<Expression> CudaDialect::clamp(std::span<const Expression> v) {
  if (options_.fast || v[1].type != ElementType::f32 || !v[1].is_literal || v[1].text == "0.0f" ||
      v[1].text == "-0.0f" || v[1].text.starts_with("__"))  // no number
    return std::nullopt;
  const auto compares = [&](std::string_view how) {
    return v[0].text == fmt::format("{}({}, {})", how, v[2].text, v[1].text);
  };
  if (compares("less")) return helper("maximum", {v[2].text, v[1].text}, ElementType::f32);
  if (compares("greater")) return helper("minimum", {v[2].text, v[1].text}, ElementType::f32);
  return std::nullopt;
}

Expression CudaDialect::integer(const Statement& s, std::span<const Expression> v, ElementType type, bool may_wrap) {
  const bool wide = type == ElementType::i64;
  // These give in 32 bits what they give in 64.
  const bool keeps_width = s.op == Op::bit_and || s.op == Op::bit_or || s.op == Op::bit_xor || s.op == Op::bit_not ||
                           s.op == Op::shift_right || s.op == Op::rem || s.op == Op::div;
  const bool by_left = s.op == Op::shift_left || s.op == Op::shift_right;
  const bool narrow = wide && v[0].is_narrow && (v.back().is_narrow || by_left);
  std::vector<Expression> operands(v.begin(), v.end());
  if (narrow && may_wrap && !keeps_width) {
    operands[0].text = argument(operands[0]);
    operands[0].strength = Strength::primary;
  }
  const auto finished = [&](Expression e) {
    e.type = type;
    e.is_narrow = narrow && (!may_wrap || keeps_width);
    return e;
  };
  if (s.op == Op::min || s.op == Op::max) {
    const char* name = s.op == Op::min ? "::min" : "::max";
    return {.text = fmt::format("{}({}, {})", name, argument(v[0]), argument(v[1])), .type = type};
  }
  if (!wide && may_wrap) {
    switch (s.op) {
      case Op::add: return helper("wrap_add", {v[0].text, v[1].text}, type);
      case Op::sub: return helper("wrap_sub", {v[0].text, v[1].text}, type);
      case Op::mul: return helper("wrap_mul", {v[0].text, v[1].text}, type);
      case Op::neg: return helper("wrap_sub", {"0", v[0].text}, type);
      case Op::shift_left: return helper("wrap_shift", {v[0].text, v[1].text}, type);
      default: break;
    }
  }
  if (s.op == Op::neg) return finished(prefix('-', operands[0]));
  if (s.op == Op::bit_not) return finished(prefix('~', operands[0]));
  const Operator op = operator_of(s.op, false);
  return finished(infix(operands[0], op.text, operands[1], op.strength, type));
}

Expression CudaDialect::convert(const Expression& value, ElementType to) {
  const ElementType from = value.type;
  if (from == to) return value;
  if (from == ElementType::boolean)
    return {
        .text = fmt::format("{} ? 1 : 0", inside(value, Strength::either)), .type = to, .strength = Strength::choice};
  if (from == ElementType::f32) return helper("to_i32", {value.text}, to);
  if (to == ElementType::f32) {
    const char* name = from == ElementType::i32 ? "__int2float_rn" : "__ll2float_rn";
    return {.text = fmt::format("{}({})", name, argument(value)), .type = to};
  }
  Expression converted = value;
  converted.type = to;
  converted.is_literal = false;
  converted.is_narrow = to == ElementType::i64;
  if (to == ElementType::i32 && !value.is_narrow) {
    converted.text = fmt::format("static_cast<int>({})", value.text);
    converted.strength = Strength::primary;
  }
  return converted;
}

Expression CudaDialect::exact_real(const Statement& s, std::span<const Expression> v) {
  constexpr ElementType kF32 = ElementType::f32, kBoolean = ElementType::boolean;
  switch (s.op) {
    case Op::neg: return helper("neg", {v[0].text}, kF32);
    case Op::abs: return helper("abs", {v[0].text}, kF32);
    case Op::sqrt: return helper("sqrt", {v[0].text}, kF32);
    case Op::trunc: return helper("trunc", {v[0].text}, kF32);
    case Op::canonical_nan: return helper("canonical_nan", {v[0].text}, kF32);
    case Op::add: return helper("add", {v[0].text, v[1].text}, kF32);
    case Op::sub: return helper("sub", {v[0].text, v[1].text}, kF32);
    case Op::mul: return helper("mul", {v[0].text, v[1].text}, kF32);
    case Op::div:
      if (const std::optional<std::string> reciprocal = reciprocal_of_odd(v[1]))
        return helper("div_by", {v[0].text, "-" + v[1].text, *reciprocal}, kF32);
      return helper("div", {v[0].text, v[1].text}, kF32);
    case Op::min: return helper("minimum", {v[0].text, v[1].text}, kF32);
    case Op::max: return helper("maximum", {v[0].text, v[1].text}, kF32);
    case Op::fma: return helper("fma", {v[0].text, v[1].text, v[2].text}, kF32);
    case Op::eq: return helper("equal", {v[0].text, v[1].text}, kBoolean);
    case Op::ne: return helper("not_equal", {v[0].text, v[1].text}, kBoolean);
    case Op::lt: return helper("less", {v[0].text, v[1].text}, kBoolean);
    case Op::le: return helper("less_equal", {v[0].text, v[1].text}, kBoolean);
    case Op::gt: return helper("greater", {v[0].text, v[1].text}, kBoolean);
    case Op::ge: return helper("greater_equal", {v[0].text, v[1].text}, kBoolean);
    default: internal_error("emit cuda: no arithmetic for " + std::string(lane::op_name(s.op)));
  }
}

Expression CudaDialect::real(const Statement& s, std::span<const Expression> v) {
  const auto called = [&](std::string_view name) { return Expression{.text = fmt::format("{}({})", name, v[0].text)}; };
  switch (s.op) {
    case Op::neg: return prefix('-', v[0]);
    case Op::abs: return called("fabsf");
    case Op::sqrt: return called("sqrtf");
    case Op::trunc: return called("truncf");
    case Op::fma: return {.text = fmt::format("fmaf({}, {}, {})", v[0].text, v[1].text, v[2].text)};
    case Op::canonical_nan:
    case Op::min:
    case Op::max: return exact_real(s, v);
    case Op::div:
      if (v[0].text == "1.0f" && v[1].strength == Strength::primary && v[1].text.starts_with("sqrtf("))
        return {.text = "r" + v[1].text};
      break;
    default: break;
  }
  const Operator op = operator_of(s.op, false);
  return infix(v[0], op.text, v[1], op.strength, is_comparison(s.op) ? ElementType::boolean : ElementType::f32);
}

std::optional<Expression> CudaDialect::device_function(const lane::Function& function,
                                                       std::span<const Expression> arguments) {
  const bool suits = options_.fast && function.parameters == std::vector{ElementType::f32} &&
                     function.returns.size() == 1 && function.types[function.returns[0]] == ElementType::f32;
  if (!suits) return std::nullopt;
  const auto called = [&](const char* name) {
    return Expression{.text = fmt::format("{}({})", name, arguments[0].text)};
  };
  if (function.name == "exp" || function.name == "exp_nonpositive")
    return helper("fast_exp", {arguments[0].text}, ElementType::f32);
  if (function.name == "log") return called("__logf");
  if (function.name == "tanh") return called("tanhf");
  if (function.name == "erf") return called("erff");
  // The denominator is at least 1, and where it is too large for the fast division the result is 0 as it should be.
  if (function.name == "sigmoid")
    return Expression{.text = fmt::format("__fdividef(1.0f, 1.0f + {}({}))", helpers_.use("fast_exp"),
                                          prefix('-', arguments[0]).text)};
  return std::nullopt;
}

}  // namespace lanefold::emit
