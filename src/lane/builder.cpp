#include "lane/builder.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "lane/typing.h"

namespace lanefold::lane {
namespace {

void require(bool holds, Op op, const char* what) {
  if (!holds) internal_error("lane builder: " + std::string(op_name(op)) + ": " + what);
}

}  // namespace

Statement& Builder::append(Statement statement) {
  statement.comment = std::exchange(comment_, {});
  blocks_.back()->push_back(std::move(statement));
  return blocks_.back()->back();
}

ValueId Builder::new_values(Op op, std::span<const ElementType> types) {
  const auto first = static_cast<ValueId>(types_->size());
  for (const ElementType type : types) {
    require(is_register_type(type), op, "a value must be boolean, i32, i64 or f32");
    types_->push_back(type);
  }
  return first;
}

ValueId Builder::define(Statement statement, ElementType type) {
  for (const ValueId operand : statement.operands) {
    require(operand < types_->size(), statement.op, "an operand that no value has");
  }
  statement.result = new_values(statement.op, std::span(&type, 1));
  statement.results = 1;
  return append(std::move(statement)).result;
}

ValueId Builder::leaf(Op op, ElementType type) {
  const Leaf same{op, type, 0};
  if (const std::optional<ValueId> value = known(same)) return *value;
  Statement statement;
  statement.op = op;
  const ValueId value = define(std::move(statement), type);
  known_.back().emplace(same, value);
  return value;
}

std::optional<ValueId> Builder::known(const Leaf& leaf) const {
  for (const auto& block : known_) {
    if (auto found = block.find(leaf); found != block.end()) return found->second;
  }
  return std::nullopt;
}

ValueId Builder::constant(ElementType type, std::uint64_t bits) {
  Statement statement;
  statement.bits = normal_bits(type, bits);
  const std::uint64_t normal = statement.bits;
  const Leaf leaf{Op::constant, type, normal};
  if (const std::optional<ValueId> same = known(leaf)) return *same;
  const ValueId value = define(std::move(statement), type);
  known_.back().emplace(leaf, value);
  if (is_integer(type)) constants_.emplace(value, integer_value(type, normal));
  return value;
}

ValueId Builder::argument(std::uint32_t index, ElementType type) {
  require(type == ElementType::i64 || type == ElementType::f32, Op::argument, "a scalar argument is i64 or f32");
  Statement statement;
  statement.op = Op::argument;
  statement.a = index;
  return define(std::move(statement), type);
}

ValueId Builder::arithmetic(Op op, std::vector<ValueId> operands) {
  std::vector<ElementType> types;
  for (const ValueId operand : operands) {
    require(operand < types_->size(), op, "an operand that no value has");
    types.push_back(type(operand));
  }
  const std::optional<ElementType> result = arithmetic_type(op, types);
  require(result.has_value(), op, "operand types that do not suit it");
  Statement statement;
  statement.op = op;
  statement.operands = std::move(operands);
  return define(std::move(statement), *result);
}

ValueId Builder::unary(Op op, ValueId a) { return arithmetic(op, {a}); }

ValueId Builder::binary(Op op, ValueId a, ValueId b) {
  require(a < types_->size() && b < types_->size(), op, "an operand that no value has");
  if (is_integer(type(a)) && type(a) == type(b)) {
    const auto constant_of = [&](ValueId v) -> std::optional<std::uint64_t> {
      const auto found = constants_.find(v);
      return found == constants_.end() ? std::nullopt : std::optional(static_cast<std::uint64_t>(found->second));
    };
    const std::optional<std::uint64_t> x = constant_of(a);
    const std::optional<std::uint64_t> y = constant_of(b);
    if (x && y) {
      if (op == Op::add) return constant(type(a), *x + *y);
      if (op == Op::sub) return constant(type(a), *x - *y);
      if (op == Op::mul) return constant(type(a), *x * *y);
    }
    if (op == Op::add && x == 0u) return b;
    if ((op == Op::add || op == Op::sub) && y == 0u) return a;
    if (op == Op::mul && x == 1u) return b;
    if (op == Op::mul && y == 1u) return a;
  }
  return arithmetic(op, {a, b});
}

ValueId Builder::ternary(Op op, ValueId a, ValueId b, ValueId c) { return arithmetic(op, {a, b, c}); }

ValueId Builder::convert(ValueId a, ElementType to) {
  require(a < types_->size(), Op::convert, "an operand that no value has");
  if (type(a) == to) return a;
  require(convertible(type(a), to), Op::convert, "no such conversion");
  const auto known = constants_.find(a);
  if (known != constants_.end() && is_integer(to)) return constant(to, static_cast<std::uint64_t>(known->second));
  Statement statement;
  statement.op = Op::convert;
  statement.operands = {a};
  return define(std::move(statement), to);
}

ValueId Builder::bitcast(ValueId a, ElementType to) {
  require(a < types_->size(), Op::bitcast, "an operand that no value has");
  if (type(a) == to) return a;
  require(bitcastable(type(a), to), Op::bitcast, "only between f32 and i32");
  Statement statement;
  statement.op = Op::bitcast;
  statement.operands = {a};
  return define(std::move(statement), to);
}

std::vector<ValueId> Builder::define_many(Statement statement, std::span<const ElementType> types) {
  for (const ValueId operand : statement.operands) {
    require(operand < types_->size(), statement.op, "an operand that no value has");
  }
  statement.result = new_values(statement.op, types);
  statement.results = static_cast<std::uint32_t>(types.size());
  std::vector<ValueId> values(types.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = statement.result + static_cast<ValueId>(i);
  append(std::move(statement));
  return values;
}

std::vector<ValueId> Builder::call(std::uint32_t function, std::span<const ValueId> arguments,
                                   std::span<const ElementType> results) {
  Statement statement;
  statement.op = Op::call;
  statement.a = function;
  statement.operands.assign(arguments.begin(), arguments.end());
  return define_many(std::move(statement), results);
}

ValueId Builder::get(std::uint32_t array, std::uint32_t element, ElementType type) {
  Statement statement;
  statement.op = Op::get;
  statement.a = array;
  statement.b = element;
  return define(std::move(statement), type);
}

void Builder::set(std::uint32_t array, std::uint32_t element, ValueId value) {
  Statement statement;
  statement.op = Op::set;
  statement.operands = {value};
  statement.a = array;
  statement.b = element;
  append(std::move(statement));
}

std::vector<ValueId> Builder::load(std::uint32_t buffer, ElementType storage, ValueId address, std::uint32_t width,
                                   std::uint32_t alignment, bool streaming) {
  require(type(address) == ElementType::i64, Op::load, "an address is i64");
  require(width > 0, Op::load, "a width of no elements");
  Statement statement;
  statement.op = Op::load;
  statement.operands = {address};
  statement.a = buffer;
  statement.count = width;
  statement.alignment = alignment;
  statement.streaming = streaming;
  return define_many(std::move(statement), std::vector<ElementType>(width, register_type(storage)));
}

void Builder::store(std::uint32_t buffer, ValueId address, std::span<const ValueId> values, std::uint32_t alignment,
                    bool streaming) {
  require(type(address) == ElementType::i64, Op::store, "an address is i64");
  require(!values.empty(), Op::store, "a width of no elements");
  Statement statement;
  statement.op = Op::store;
  statement.operands.push_back(address);
  statement.operands.insert(statement.operands.end(), values.begin(), values.end());
  statement.a = buffer;
  statement.count = static_cast<std::uint32_t>(values.size());
  statement.alignment = alignment;
  statement.streaming = streaming;
  append(std::move(statement));
}

ValueId Builder::shared_load(std::uint32_t array, ElementType type, ValueId index) {
  require(this->type(index) == ElementType::i32, Op::shared_load, "an index is i32");
  Statement statement;
  statement.op = Op::shared_load;
  statement.operands = {index};
  statement.a = array;
  return define(std::move(statement), register_type(type));
}

ValueId Builder::peer_load(std::uint32_t array, ElementType type, ValueId rank, ValueId index) {
  Statement statement{.op = Op::peer_load, .operands = {rank, index}};
  statement.a = array;
  return define(std::move(statement), type);
}

void Builder::shared_store(std::uint32_t array, ValueId index, ValueId value) {
  require(type(index) == ElementType::i32, Op::shared_store, "an index is i32");
  Statement statement;
  statement.op = Op::shared_store;
  statement.operands = {index, value};
  statement.a = array;
  append(std::move(statement));
}

void Builder::exchange(std::uint32_t array, std::span<const ValueId> values) {
  append({.op = Op::exchange, .operands = {values.begin(), values.end()}, .a = array});
}

ValueId Builder::shuffle_xor(ValueId a, std::uint32_t distance) {
  Statement statement;
  statement.op = Op::shuffle_xor;
  statement.operands = {a};
  statement.b = distance;
  return define(std::move(statement), type(a));
}

ValueId Builder::shuffle_down(ValueId a, std::uint32_t distance) {
  Statement statement;
  statement.op = Op::shuffle_down;
  statement.operands = {a};
  statement.b = distance;
  return define(std::move(statement), type(a));
}

ValueId Builder::shuffle(ValueId a, ValueId lane) {
  require(type(lane) == ElementType::i32, Op::shuffle, "a lane index is i32");
  Statement statement;
  statement.op = Op::shuffle;
  statement.operands = {a, lane};
  return define(std::move(statement), type(a));
}

std::vector<ValueId> Builder::fold_lanes(std::uint32_t function, std::span<const ValueId> values,
                                         std::uint32_t components, std::uint32_t first_bit, std::uint32_t bits) {
  require(components > 0 && !values.empty() && values.size() % components == 0, Op::fold_lanes,
          "values that are not whole register groups");
  const std::size_t registers = values.size() / components;
  require(std::has_single_bit(registers), Op::fold_lanes, "the number of register groups is not a power of two");
  Statement statement;
  statement.op = Op::fold_lanes;
  statement.operands.assign(values.begin(), values.end());
  statement.a = function;
  statement.b = first_bit;
  statement.count = bits;
  std::vector<ElementType> types(folded_registers(registers, bits) * components);
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = type(values[i % components]);
  return define_many(std::move(statement), types);
}

void Builder::inside(std::vector<Statement>& block, const std::function<void()>& build) {
  blocks_.push_back(&block);
  known_.emplace_back();
  build();
  known_.pop_back();
  blocks_.pop_back();
}

void Builder::branch(ValueId condition, const std::function<void()>& body, const std::function<void()>& otherwise) {
  require(type(condition) == ElementType::boolean, Op::branch, "a condition is boolean");
  // The statement joins its block only when its bodies are complete, so that no reference into the block goes stale.
  std::string comment = std::exchange(comment_, {});
  Statement statement;
  statement.op = Op::branch;
  statement.operands = {condition};
  inside(statement.body, body);
  if (otherwise) inside(statement.otherwise, otherwise);
  comment_ = std::move(comment);
  append(std::move(statement));
}

void Builder::loop(ValueId begin, ValueId end, ValueId step, const std::function<void(ValueId)>& body) {
  for (const ValueId bound : {begin, end, step}) {
    require(type(bound) == ElementType::i64, Op::loop, "begin, end and step are i64");
  }
  std::string comment = std::exchange(comment_, {});
  Statement statement;
  statement.op = Op::loop;
  statement.operands = {begin, end, step};
  const ElementType counter = ElementType::i64;
  statement.result = new_values(Op::loop, std::span(&counter, 1));
  statement.results = 1;
  inside(statement.body, [&] { body(statement.result); });
  comment_ = std::move(comment);
  append(std::move(statement));
}

}  // namespace lanefold::lane
