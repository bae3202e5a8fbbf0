// The text form of lane modules, read: statements.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lane/text_parser.h"
#include "lane/typing.h"
#include "lane/verify.h"

namespace lanefold::lane {
namespace {

std::optional<Op> op_from_name(std::string_view name) {
  for (auto i = static_cast<int>(Op::constant); i <= static_cast<int>(Op::loop); ++i) {
    if (op_name(static_cast<Op>(i)) == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}

bool ends_block(std::string_view word) {
  return word == "end" || word == "else" || word == "return" || word == "kernel" || word == "function";
}

}  // namespace

template <class T>
std::uint32_t TextParser::find(const std::vector<T>& entries, std::string_view what) {
  const std::string_view name = cursor().word(fmt::format("the name of a {}", what));
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const T& entry) { return entry.name == name; });
  if (found == entries.end()) {
    cursor().fail(Code::lane_unknown_name, fmt::format("there is no {} {}", what, name), "declare it above");
  }
  return static_cast<std::uint32_t>(found - entries.begin());
}

void TextParser::parse_block(std::vector<Statement>& block, std::size_t depth) {
  while (!cursor().at_end()) {
    const std::string_view word = cursor().peek_word();
    if (ends_block(word)) return;
    Statement s;
    s.comment = comment_.value_or("");
    if (word == "for") {
      parse_loop(s, depth);
    } else if (word == "if") {
      parse_branch(s, depth);
    } else {
      parse_statement(s);
    }
    block.push_back(std::move(s));
  }
}

void TextParser::parse_loop(Statement& s, std::size_t depth) {
  if (depth + 1 >= kMaxDepth)
    cursor().fail(Code::lane_too_large, fmt::format("blocks nest {} deep", depth + 1),
                  fmt::format("at most {}", kMaxDepth));
  s.op = Op::loop;
  cursor().keyword("for");
  s.result = cursor().value();
  s.results = 1;
  cursor().expect("=");
  s.operands.push_back(operand());
  cursor().keyword("to");
  s.operands.push_back(operand());
  cursor().keyword("step");
  s.operands.push_back(operand());
  cursor().expect_end();
  define_all(s, ElementType::i64);
  next_line();
  parse_block(s.body, depth + 1);
  cursor().keyword("end");
  cursor().expect_end();
  next_line();
}

void TextParser::parse_branch(Statement& s, std::size_t depth) {
  if (depth + 1 >= kMaxDepth)
    cursor().fail(Code::lane_too_large, fmt::format("blocks nest {} deep", depth + 1),
                  fmt::format("at most {}", kMaxDepth));
  s.op = Op::branch;
  cursor().keyword("if");
  s.operands.push_back(operand());
  cursor().expect_end();
  next_line();
  parse_block(s.body, depth + 1);
  if (cursor().peek_word() == "else") {
    cursor().keyword("else");
    cursor().expect_end();
    next_line();
    parse_block(s.otherwise, depth + 1);
  }
  cursor().keyword("end");
  cursor().expect_end();
  next_line();
}

void TextParser::parse_statement(Statement& s) {
  if (cursor().peek() == '%') {
    s.result = cursor().value();
    s.results = 1;
    if (cursor().eat("..")) {
      const ValueId last = cursor().value();
      if (last < s.result || last >= kMaxValues) {
        cursor().fail(Code::lane_syntax, fmt::format("%{}..%{} is no range of values", s.result, last),
                      "write the first and the last result");
      }
      s.results = last - s.result + 1;
    }
    cursor().expect("=");
  }
  parse_operation(s);
  cursor().expect_end();
  next_line();
}

ValueId TextParser::operand() {
  const ValueId v = cursor().value();
  if (v >= defined_.size() || !defined_[v]) {
    cursor().fail(Code::lane_undefined_value, fmt::format("%{} is not defined before its use", v), "define it earlier");
  }
  return v;
}

void TextParser::operand_list(Statement& s) {
  do s.operands.push_back(operand());
  while (cursor().eat(","));
}

void TextParser::define(Statement& s, const std::vector<ElementType>& types) {
  if (s.results != types.size()) {
    cursor().fail(Code::lane_result_numbering,
                  fmt::format("{} gives {} results, not {}", op_name(s.op), types.size(), s.results),
                  "name every result");
  }
  const std::size_t end = std::size_t{s.result} + s.results;
  if (end > defined_.size()) {
    total_values_ += end - defined_.size();
    if (total_values_ > kMaxValues) {
      cursor().fail(Code::lane_too_large, fmt::format("the values run to %{}", end - 1),
                    fmt::format("a module has at most {}", kMaxValues));
    }
    defined_.resize(end);
    types_->resize(end, ElementType::boolean);
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::size_t v = s.result + i;
    if (defined_[v])
      cursor().fail(Code::lane_result_numbering, fmt::format("%{} is defined twice", v), "number every result once");
    defined_[v] = true;
    (*types_)[v] = types[i];
  }
}

void TextParser::parse_arguments(Statement& s) {
  s.a = find(module_.functions, "function");
  cursor().expect("(");
  if (!cursor().eat(")")) {
    operand_list(s);
    cursor().expect(")");
  }
}

void TextParser::parse_hints(Statement& s) {
  if (cursor().peek_word() == "align") {
    cursor().keyword("align");
    s.alignment = cursor().number("an alignment in elements");
  }
  if (cursor().peek_word() == "streaming") {
    cursor().keyword("streaming");
    s.streaming = true;
  }
}

void TextParser::parse_operation(Statement& s) {
  static const Kernel kNone;
  const Kernel& k = kernel_ != nullptr ? *kernel_ : kNone;
  const std::string_view name = cursor().word("an operation");
  const std::optional<Op> op = op_from_name(name);
  if (!op || *op == Op::branch || *op == Op::loop) {
    cursor().fail(Code::lane_unknown_word, fmt::format("there is no operation {}", name), "lane/ops.def lists them");
  }
  s.op = *op;
  const auto element = [&](auto index) {
    cursor().expect("[");
    index();
    cursor().expect("]");
  };
  const auto address = [&] { s.operands.push_back(operand()); };
  const auto static_index = [&] { s.b = cursor().number("an element"); };
  switch (s.op) {
    case Op::constant: {
      const ElementType type = cursor().type();
      if (!is_register_type(type))
        cursor().fail(Code::lane_type_mismatch, fmt::format("a constant of type {}", element_name(type)),
                      "use bool, i32, i64 or f32");
      s.bits = cursor().constant(type);
      return define(s, {type});
    }
    case Op::argument: s.a = find(k.arguments, "argument"); return define(s, {k.arguments[s.a].type});
    case Op::lane:
    case Op::simd_group:
    case Op::cluster_rank: return define(s, {ElementType::i32});
    case Op::threadgroup: return define(s, {ElementType::i64});
    case Op::convert:
    case Op::bitcast: {
      address();
      cursor().keyword("to");
      return define(s, {cursor().type()});
    }
    case Op::call: {
      parse_arguments(s);
      const Function& f = module_.functions[s.a];
      std::vector<ElementType> types;
      for (const ValueId v : f.returns) types.push_back(f.types[v]);
      return define(s, types);
    }
    case Op::fold_lanes: {
      parse_arguments(s);
      cursor().keyword("first_bit");
      s.b = cursor().number("a lane bit");
      cursor().keyword("bits");
      s.count = cursor().number("a number of lane bits");
      const Function& f = module_.functions[s.a];
      std::vector<ElementType> types;
      for (std::uint32_t i = 0; i < s.results && !f.returns.empty(); ++i)
        types.push_back(f.types[f.returns[i % f.returns.size()]]);
      return define(s, types);
    }
    case Op::get:
      s.a = find(k.registers, "register array");
      element(static_index);
      return define(s, {k.registers[s.a].type});
    case Op::set:
      s.a = find(k.registers, "register array");
      element(static_index);
      cursor().expect("=");
      address();
      return define(s, {});
    case Op::load:
      s.a = find(k.arguments, "argument");
      element(address);
      parse_hints(s);
      s.count = s.results;
      return define_all(s, register_type(k.arguments[s.a].type));
    case Op::store:
      s.a = find(k.arguments, "argument");
      element(address);
      cursor().expect("=");
      operand_list(s);
      parse_hints(s);
      s.count = static_cast<std::uint32_t>(s.operands.size() - 1);
      return define(s, {});
    case Op::shared_load:
      s.a = find(k.shared, "threadgroup array");
      element(address);
      return define(s, {register_type(k.shared[s.a].type)});
    case Op::shared_store:
      s.a = find(k.shared, "threadgroup array");
      element(address);
      cursor().expect("=");
      address();
      return define(s, {});
    case Op::peer_load:
    case Op::peer_store: {
      s.a = find(k.shared, "threadgroup array");
      element(address);
      cursor().keyword("of");
      s.operands.insert(s.operands.begin(), operand());
      if (s.op == Op::peer_load) return define(s, {register_type(k.shared[s.a].type)});
      cursor().expect("=");
      address();
      return define(s, {});
    }
    case Op::exchange:
      s.a = find(k.shared, "threadgroup array");
      cursor().expect("=");
      operand_list(s);
      return define(s, {});
    case Op::shuffle_xor:
    case Op::shuffle_down:
      address();
      cursor().keyword("by");
      s.b = cursor().number("a lane distance");
      return define(s, {type_of(s.operands[0])});
    case Op::shuffle: operand_list(s); return define(s, {type_of(s.operands[0])});
    case Op::permute2:
      operand_list(s);
      cursor().keyword("table");
      while (!cursor().at_end()) {
        const std::uint32_t entry = cursor().number("an entry of the table");
        if (entry > std::numeric_limits<std::uint16_t>::max())
          cursor().fail(Code::lane_bad_attribute, fmt::format("entry {} of a table", entry),
                        "stay within the two sources");
        s.table.push_back(static_cast<std::uint16_t>(entry));
      }
      return define(s, {type_of(s.operands[0])});
    case Op::barrier:
    case Op::simd_barrier:
    case Op::cluster_barrier: return define(s, {});
    default: {
      operand_list(s);
      std::vector<ElementType> types;
      for (const ValueId v : s.operands) types.push_back(type_of(v));
      const std::optional<ElementType> type = arithmetic_type(s.op, types);
      if (!type)
        cursor().fail(Code::lane_type_mismatch, fmt::format("{} is not defined on these operands", name),
                      "look at their number and types");
      return define(s, {*type});
    }
  }
}

}  // namespace lanefold::lane
