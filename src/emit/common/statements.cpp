// The statements of a body, one by one.
#include <utility>

#include <fmt/format.h>

#include "emit/common/body_writer.h"
#include "lane/typing.h"

namespace lanefold::emit {

using lane::Op;
using lane::Statement;
using lane::ValueId;

namespace {

/// f(a, b) and f(b, a) are the same bits, up to the payload of a NaN, which stores make one.
bool is_commutative(const lane::Function& merge) {
  if (merge.body.size() != 1 || merge.returns != std::vector{merge.body[0].result}) return false;
  if (merge.body[0].operands != std::vector<ValueId>{0, 1}) return false;
  switch (merge.body[0].op) {
    case Op::add:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor: return true;
    default: return false;
  }
}

}  // namespace

void BodyWriter::statement(const Statement& s) {
  comment(s.comment);
  if (usage_->is_dead(s)) return;
  reads_ = {};
  if (kernel_ != nullptr && dialect_.own_statement(*this, s)) return;
  switch (s.op) {
    case Op::constant: {
      Expression literal = dialect_.constant(type_of(s.result), s.bits);
      literal.type = type_of(s.result);
      literal.is_literal = true;
      if (lane::is_integer(literal.type)) {
        const std::int64_t value = lane::integer_value(literal.type, s.bits);
        ranges_[s.result] = Range{value, value};
        literal.is_narrow = literal.type == ElementType::i64 && value >= INT32_MIN && value <= INT32_MAX;
      }
      return define(s.result, std::move(literal));
    }
    case Op::argument: return define(s.result, {.text = arguments_[s.a], .type = type_of(s.result)});
    case Op::lane:
      ranges_[s.result] = Range{0, std::int64_t{kernel_->simd_width} - 1};
      return define(s.result, {.text = leaves_[0], .type = ElementType::i32});
    case Op::simd_group:
      ranges_[s.result] = Range{0, std::int64_t{kernel_->simd_groups} - 1};
      return define(s.result, {.text = leaves_[1], .type = ElementType::i32});
    case Op::threadgroup: return define(s.result, {.text = leaves_[2], .type = ElementType::i64});
    case Op::cluster_rank:
      ranges_[s.result] = Range{0, std::int64_t{kernel_->cluster} - 1};
      return define(s.result, {.text = leaves_[3], .type = ElementType::i32});
    case Op::get:
      if (const Statement* load = guarded(s.a)) return dialect_.get_guarded(*this, s, *load);
      return give(s, 0, {.text = element(s.a, s.b)});
    case Op::set: {
      if (const Statement* load = guarded(s.a)) {
        if (is_outermost() && s.b == 0) dialect_.declare_guarded(*this, *load);
        return;
      }
      const Expression value = take(s.operands[0]);
      settle(s);
      return line(fmt::format("{} = {};", element(s.a, s.b), value.text));
    }
    case Op::load:
      for (const auto& [array, load] : guarded_arrays_)
        if (load->result == s.result) return dialect_.load_guarded(*this, s);
      return dialect_.load(*this, s);
    case Op::store: return dialect_.store(*this, s);
    case Op::shared_load:
    case Op::peer_load: return dialect_.shared_load(*this, s);
    case Op::shared_store:
    case Op::peer_store: return dialect_.shared_store(*this, s);
    case Op::shuffle:
    case Op::shuffle_xor:
    case Op::shuffle_down:
    case Op::permute2: return dialect_.shuffle(*this, s);
    case Op::barrier:
    case Op::simd_barrier:
    case Op::cluster_barrier: settle(s); return dialect_.barrier(*this, s);
    case Op::exchange: return dialect_.exchange(*this, s);
    case Op::call: return call(s);
    case Op::fold_lanes: return fold_lanes(s);
    case Op::branch: return branch(s);
    case Op::loop: return loop(s);
    default: return arithmetic(s);
  }
}

void BodyWriter::arithmetic(const Statement& s) {
  std::vector<Expression> operands;
  std::vector<std::optional<Range>> ranges;
  for (const ValueId v : s.operands) {
    ranges.push_back(ranges_[v]);
    operands.push_back(take(v));
  }
  const ElementType type = type_of(s.result), from = type_of(s.operands.back());
  bool may_wrap = false;
  if (lane::is_integer(type)) {
    std::optional<Range> range = result_range(s.op, ranges);
    if (s.op == Op::convert && from == ElementType::boolean) range = Range{0, 1};
    if (s.op == Op::convert && lane::is_integer(from)) range = ranges[0];
    may_wrap = !fits_i32(range);
    if (type == ElementType::i32 && may_wrap) range = std::nullopt;
    ranges_[s.result] = range;
  }
  give(s, 0, dialect_.operation(s, operands, type, may_wrap));
}

void BodyWriter::call(const Statement& s) {
  std::vector<Expression> arguments;
  for (const ValueId v : s.operands) arguments.push_back(take(v));
  if (std::optional<Expression> own = dialect_.call(*this, s, module_.functions[s.a], arguments))
    return give(s, 0, std::move(*own));
  const std::vector<Expression> results = call_function(s.a, std::move(arguments), false);
  const When when = s.results > 1 ? When::now : When::later;
  for (std::uint32_t i = 0; i < s.results; ++i) give(s, i, results[i], when);
}

std::vector<Expression> BodyWriter::call_function(std::uint32_t index, std::vector<Expression> arguments, bool named) {
  const lane::Function& function = module_.functions[index];
  std::string base = function.name.starts_with("merge_") ? function.name.substr(6) : function.name + "_value";
  std::vector<Expression> results;
  std::optional<Expression> value = dialect_.device_function(function, arguments);
  if (!value) {
    calls(index);
    std::string list;
    for (const Expression& argument : arguments) list += (list.empty() ? "" : ", ") + dialect_.argument(argument);
    value = Expression{.text = fmt::format("{}({})", function_names_[index], list)};
  }
  if (function.returns.size() == 1) {
    value->type = function.types[function.returns[0]];
    if (named) value->text = declare(dialect_.type(value->type), base, value->text);
    return {std::move(*value)};
  }
  const std::string state = declare(function_names_[index] + "_result", base, value->text);
  for (std::size_t i = 0; i < function.returns.size(); ++i)
    results.push_back({.text = fmt::format("{}.v{}", state, i), .type = function.types[function.returns[i]]});
  return results;
}

void BodyWriter::branch(const Statement& s) {
  const Expression condition = take(s.operands[0]);
  settle(s);
  line(fmt::format("if ({}) {{", condition.text));
  ++depth_;
  block(s.body);
  --depth_;
  if (!s.otherwise.empty()) {
    line("} else {");
    ++depth_;
    block(s.otherwise);
    --depth_;
  }
  line("}");
}

void BodyWriter::loop(const Statement& s) {
  const Expression begin = take(s.operands[0]);
  const std::optional<std::int64_t> first = constant(s.operands[0]), last = constant(s.operands[1]),
                                    step = constant(s.operands[2]);
  // The end and the step are looked at in every turn.
  const Expression end = take_named(s.operands[1]), by = take_named(s.operands[2]);
  settle(s);
  std::optional<std::int64_t> trips;
  if (first && last && step && *step > 0) trips = *last > *first ? (*last - *first + *step - 1) / *step : 0;
  if (const std::string hint = dialect_.loop_hint(s, trips); !hint.empty()) line(hint);
  names_.open();
  const std::string counter = names_.declare("i");
  define(s.result, {.text = counter, .type = ElementType::i64});
  if (first && last && *first <= *last) ranges_[s.result] = Range{*first, *last};
  line(fmt::format("for ({} {} = {}; {} < {}; {}) {{", dialect_.type(ElementType::i64), counter, begin.text, counter,
                   end.text, step == 1 ? "++" + counter : fmt::format("{} += {}", counter, by.text)));
  ++depth_;
  block(s.body);
  --depth_;
  line("}");
  names_.close();
}

void BodyWriter::fold_lanes(const Statement& s) {
  const lane::Function& merge = module_.functions[s.a];
  const std::size_t components = merge.returns.size();
  std::vector<Expression> values;
  for (const ValueId v : s.operands) values.push_back(take_named(v));
  const bool commutes = is_commutative(merge);
  for (std::uint32_t bit = s.b; bit < s.b + s.count; ++bit) {
    const bool transposes = values.size() > components;
    std::vector<Expression> merged;
    for (std::size_t at = 0; at < values.size(); at += (transposes ? 2 : 1) * components) {
      std::vector<Expression> left, right;
      for (std::size_t c = 0; c < components; ++c) {
        const Expression& own = values[at + c];
        const Expression& other = values[at + (transposes ? components : 0) + c];
        Expression kept = transposes ? dialect_.by_bit(bit, own, other) : own;
        Expression received = transposes ? dialect_.trade(bit, own, other) : dialect_.swap(1u << bit, own);
        if (!commutes) {
          // The lane without the bit is the left one of the two.
          for (Expression* side : {&kept, &received}) {
            if (is_simple(*side)) continue;
            side->text = declare(dialect_.type(side->type), side == &kept ? "kept" : "received", side->text);
            side->strength = Strength::primary;
          }
          left.push_back(dialect_.by_bit(bit, kept, received));
          right.push_back(dialect_.by_bit(bit, received, kept));
        } else {
          left.push_back(kept);
          right.push_back(received);
        }
      }
      left.insert(left.end(), right.begin(), right.end());
      for (Expression& result : call_function(s.a, std::move(left), true)) merged.push_back(std::move(result));
    }
    values = std::move(merged);
  }
  for (std::size_t i = 0; i < values.size(); ++i) define(s.result + static_cast<std::uint32_t>(i), values[i]);
}

}  // namespace lanefold::emit
