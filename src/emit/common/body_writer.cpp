#include "emit/common/body_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "emit/common/guarded_loads.h"
#include "emit/common/together.h"
#include "lane/typing.h"

namespace lanefold::emit {

using lane::Op;
using lane::Statement;
using lane::ValueId;

namespace {

// Longer values get a name, so that lines stay readable.
constexpr std::size_t kLongestInside = 72;
constexpr std::size_t kLineWidth = 120;

constexpr Op kLeaves[] = {Op::lane, Op::simd_group, Op::threadgroup, Op::cluster_rank};
constexpr const char* kLeafNames[] = {"lane", "group", "threadgroup", "rank"};

/// Where a line is best broken, at most at `most`: behind the last comma or before the last operator that stands in the fewest
/// parentheses, in the line's second half if there is any.
std::size_t break_of(const std::string& line, std::size_t most) {
  std::size_t best = line.npos, depth = 0, best_depth = 0;
  for (std::size_t i = 0; i < std::min(most + 1, line.size()); ++i) {
    if (line[i] == '(' || line[i] == '{') ++depth;
    if ((line[i] == ')' || line[i] == '}') && depth > 0) --depth;
    if (line[i] != ' ' || i == 0) continue;
    const std::string_view next = std::string_view(line).substr(i + 1, 2);
    const bool good = line[i - 1] == ',' || next.starts_with("? ") || next.starts_with(": ") ||
                      next.starts_with("+ ") || next == "&&" || next == "||";
    if (!good || (best != line.npos && depth > best_depth && best > most / 2)) continue;
    best = i;
    best_depth = depth;
  }
  return best != line.npos ? best : line.rfind(' ', most);
}

}  // namespace

void append_line(std::string& text, std::size_t depth, const std::string& line) {
  std::string rest = line;
  std::size_t indent = 2 * depth;
  const bool is_comment = rest.starts_with("//");
  while (indent + rest.size() > kLineWidth) {
    const std::size_t most = kLineWidth - indent;
    const std::size_t cut = is_comment ? rest.rfind(' ', most) : break_of(rest, most);
    if (cut == rest.npos || cut < 8) break;
    text.append(indent, ' ').append(rest, 0, cut) += '\n';
    rest = (is_comment ? "// " : "") + rest.substr(cut + 1);
    if (!is_comment) indent = 2 * depth + 4;
  }
  text.append(indent, ' ').append(rest) += '\n';
}

BodyWriter::BodyWriter(const lane::Module& module, Dialect& dialect, const std::vector<std::string>& function_names,
                       Names names)
    : module_(module), dialect_(dialect), function_names_(function_names), names_(std::move(names)) {}

void BodyWriter::line(const std::string& text) { append_line(text_, depth_, text); }

const std::vector<std::string>& BodyWriter::name_arguments(const lane::Kernel& kernel) {
  for (const char* name : kLeafNames) leaves_.push_back(names_.declare(name));
  for (const lane::Argument& a : kernel.arguments) arguments_.push_back(names_.declare(a.name));
  for (const lane::SharedArray& a : kernel.shared) shared_.push_back(names_.declare(a.name));
  return arguments_;
}

void BodyWriter::start(const std::vector<ElementType>& types) {
  types_ = &types;
  values_.assign(types.size(), {});
  ranges_.assign(types.size(), std::nullopt);
}

void BodyWriter::find_leaves(const std::vector<Statement>& statements, std::vector<bool>& used) const {
  for (const Statement& s : statements) {
    if (usage_->is_dead(s)) continue;
    for (std::size_t i = 0; i < std::size(kLeaves); ++i)
      if (s.op == kLeaves[i]) used[i] = true;
    find_leaves(s.body, used);
    find_leaves(s.otherwise, used);
  }
}

std::string BodyWriter::kernel(const lane::Kernel& kernel) {
  kernel_ = &kernel;
  start(kernel.types);
  const std::vector<Statement> statements = bring_together(kernel.body, [&](const Statement& s) {
    return s.op == Op::call ? dialect_.most_together(module_.functions[s.a]) : 1;
  });
  usage_.emplace(statements, kernel.types.size(), std::vector<ValueId>{});
  sweeps_.emplace(statements, kernel.types.size(), [&](const Statement& s) { return usage_->is_dead(s); });
  guarded_arrays_ = guarded_loads(statements, kernel);
  std::erase_if(guarded_arrays_, [&](const auto& found) { return !dialect_.has_guarded(*this, *found.second); });
  dialect_.begin_body(*this, module_, statements);
  std::vector<bool> used(std::size(kLeaves));
  find_leaves(statements, used);
  for (std::size_t i = 0; i < std::size(kLeaves); ++i)
    if (used[i]) {
      const ElementType type = kLeaves[i] == Op::threadgroup ? ElementType::i64 : ElementType::i32;
      line(fmt::format("const {} {} = {};", dialect_.type(type), leaves_[i], dialect_.leaf(kLeaves[i])));
    }
  declare_registers();
  block(statements);
  return std::move(text_);
}

void BodyWriter::declare_registers() {
  std::string together;
  ElementType type = ElementType::f32;
  const auto finish = [&] {
    if (!together.empty()) line(fmt::format("{} {};", dialect_.type(type), together));
    together.clear();
  };
  for (const lane::RegisterArray& a : kernel_->registers) {
    if (guarded(static_cast<std::uint32_t>(registers_.size())) != nullptr) {
      registers_.emplace_back();
      continue;
    }
    registers_.push_back(names_.declare(a.name));
    if (a.size == 0) continue;
    if (a.type != type || a.size > 1) finish();
    type = a.type;
    together += together.empty() ? registers_.back() : ", " + registers_.back();
    if (a.size == 1) continue;
    together += fmt::format("[{}]", a.size);
    finish();
  }
  finish();
}

const Statement* BodyWriter::guarded(std::uint32_t array) const {
  const auto found = guarded_arrays_.find(array);
  return found == guarded_arrays_.end() ? nullptr : found->second;
}

std::string BodyWriter::base_of(const Statement& s) const {
  // threadgroup · x_row_stride is where the row of x begins.
  constexpr std::string_view kStride = "_stride";
  if (s.op == Op::mul)
    for (const ValueId v : s.operands)
      if (const std::string& text = values_[v].text; text.ends_with(kStride) && text.size() > kStride.size())
        return text.substr(0, text.size() - kStride.size());
  return base_name(module_, kernel_, s, *types_);
}

std::string BodyWriter::function(const lane::Function& function, const std::vector<std::string>& parameters,
                                 const std::string& result_type) {
  start(function.types);
  usage_.emplace(function.body, function.types.size(), function.returns);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    define(static_cast<ValueId>(i), {.text = names_.declare(parameters[i]), .type = function.types[i]});
  // Not closed by block(): what is returned is still to be written.
  for (const Statement& s : function.body) statement(s);
  std::string returned;
  for (const ValueId v : function.returns) {
    returned += (returned.empty() ? "" : ", ") + take(v).text;
  }
  if (function.returns.size() == 1) line(fmt::format("return {};", returned));
  if (function.returns.size() > 1) line(fmt::format("return {}{{{}}};", result_type, returned));
  return std::move(text_);
}

std::string BodyWriter::element(std::uint32_t array, std::uint32_t index) const {
  if (kernel_->registers[array].size == 1) return registers_[array];
  return fmt::format("{}[{}]", registers_[array], index);
}

std::optional<std::int64_t> BodyWriter::constant(ValueId v) const {
  if (!values_[v].is_literal || !ranges_[v] || ranges_[v]->low != ranges_[v]->high) return std::nullopt;
  return ranges_[v]->low;
}

Expression BodyWriter::take(ValueId v) {
  if (const auto again = again_.find(v); again != again_.end()) {
    if (!again->second.is_named && is_outermost() && sweeps_->count(v, sweep_) > 1) {
      again->second.is_named = true;
      define(v, {.text = declare(dialect_.type(type_of(v)), again->second.base, again->second.text.text),
                 .type = type_of(v)});
    }
    return values_[v];
  }
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) { return pending.value == v; });
  if (found == pending_.end()) return values_[v];
  Expression text = found->text;
  reads_.add(found->reads);
  if (--found->uses == 0) pending_.erase(found);
  return text;
}

Expression BodyWriter::take_named(ValueId v) {
  const auto found =
      std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) { return pending.value == v; });
  if (found == pending_.end()) return values_[v];
  const std::string base = found->base;
  const bool reads = !found->reads.empty();
  Expression text = std::move(found->text);
  pending_.erase(found);
  if (reads || !is_simple(text))
    text = {.text = declare(dialect_.type(type_of(v)), base, text.text), .type = type_of(v)};
  define(v, text);
  return text;
}

std::string BodyWriter::declare(std::string_view type, std::string_view base, const std::string& value) {
  std::string name = names_.declare(base);
  line(fmt::format("const {} {} = {};", type, name, value));
  return name;
}

void BodyWriter::give(const Statement& s, std::uint32_t index, Expression value, When when) {
  const ValueId v = s.result + index;
  value.type = type_of(v);
  if (usage_->count(v) == 0) return;
  Memory reads;
  if (when == When::later) {
    reads = read_by(s);
    reads.add(reads_);
  }
  if (is_simple(value) && reads.empty()) return define(v, std::move(value));
  // An element of a register array reads as well as a name, any number of times.
  const bool often = usage_->count(v) > 1 && s.op != Op::get;
  if (often || !usage_->is_nearby(v) || value.text.size() > kLongestInside) return give_named(s, index, value);
  pending_.push_back({v, base_of(s), std::move(value), std::move(reads), usage_->count(v)});
}

void BodyWriter::give_named(const Statement& s, std::uint32_t index, const Expression& value) {
  const ValueId v = s.result + index;
  const std::string name = declare(dialect_.type(type_of(v)), base_of(s), value.text);
  define(v, {.text = name, .type = type_of(v)});
}

void BodyWriter::give_anywhere(const Statement& s, std::uint32_t index, Expression value) {
  value.type = type_of(s.result + index);
  define(s.result + index, std::move(value));
}

void BodyWriter::give_in_each_sweep(const Statement& s, std::uint32_t index, Expression value) {
  const ValueId v = s.result + index;
  value.type = type_of(v);
  define(v, value);
  again_[v] = {base_of(s), std::move(value)};
}

void BodyWriter::begin_sweep() {
  ++sweep_;
  for (auto& [v, again] : again_)
    if (std::exchange(again.is_named, false)) define(v, again.text);
}

void BodyWriter::settle(const Statement& s) {
  const Memory changed = changed_by(s);
  std::vector<Pending> kept;
  for (Pending& pending : std::exchange(pending_, {})) {
    if (!changed.meets(pending.reads)) {
      kept.push_back(std::move(pending));
      continue;
    }
    const ElementType type = type_of(pending.value);
    define(pending.value, {.text = declare(dialect_.type(type), pending.base, pending.text.text), .type = type});
  }
  pending_ = std::move(kept);
}

void BodyWriter::comment(const std::string& text) {
  if (text.empty()) return;
  if (depth_ == 1 && !text_.empty()) text_ += '\n';
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string part = text.substr(at, end - at);
    for (char& c : part)
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    // A line that ends in a backslash would go on.
    while (!part.empty() && (part.back() == '\\' || part.back() == ' ')) part.pop_back();
    line(part.empty() ? "//" : "// " + part);
    at = end + 1;
  }
}

std::size_t BodyWriter::together(std::span<const Statement> statements) {
  const Statement& first = statements[0];
  if (first.op != Op::call) return 0;
  const lane::Function& function = module_.functions[first.a];
  const std::size_t most = std::min(dialect_.most_together(function), statements.size());
  std::vector<const Statement*> calls;
  std::size_t count = 0;
  for (; count < most && are_alike(first, statements[count]); ++count)
    if (!usage_->is_dead(statements[count])) calls.push_back(&statements[count]);
  if (calls.size() < 2) return 0;
  reads_ = {};
  return dialect_.calls_together(*this, function, calls) ? count : 0;
}

void BodyWriter::block(const std::vector<Statement>& statements) {
  names_.open();
  for (std::size_t i = 0; i < statements.size();) {
    const std::size_t count = together(std::span(statements).subspan(i));
    if (count == 0) statement(statements[i]);
    i += std::max<std::size_t>(count, 1);
  }
  names_.close();
}

}  // namespace lanefold::emit
