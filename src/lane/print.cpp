// The text form of lane modules, written.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>

#include "lane/module.h"
#include "lane/roles.h"
#include "lane/typing.h"

namespace lanefold::lane {
namespace {

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  std::string run() {
    line("module {}", module_.name);
    for (const Function& function : module_.functions) print_function(function);
    for (const Kernel& kernel : module_.kernels) print_kernel(kernel);
    return std::move(text_);
  }

  std::string statement(const Kernel& kernel, const Statement& s) {
    kernel_ = &kernel;
    types_ = &kernel.types;
    return opening(s);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  /// The name of entry `index`, or a mark that no parser takes where a faulty module has none.
  template <class T>
  static std::string name(const std::vector<T>& entries, std::uint32_t index) {
    return index < entries.size() ? entries[index].name : fmt::format("?{}", index);
  }

  std::string_view type(ValueId v) const { return v < types_->size() ? element_name((*types_)[v]) : "?"; }

  static std::string values(const std::vector<ValueId>& ids, std::size_t from = 0) {
    std::string list;
    for (std::size_t i = from; i < ids.size(); ++i) list += fmt::format("{}%{}", i == from ? "" : ", ", ids[i]);
    return list;
  }

  static std::string operand(const Statement& s, std::size_t i) {
    return i < s.operands.size() ? fmt::format("%{}", s.operands[i]) : "?";
  }

  void print_function(const Function& f) {
    types_ = &f.types;
    text_ += '\n';
    std::string parameters, results;
    for (std::size_t i = 0; i < f.parameters.size(); ++i) {
      parameters += fmt::format("{}%{}: {}", i == 0 ? "" : ", ", i, element_name(f.parameters[i]));
    }
    for (const ValueId v : f.returns) results += fmt::format("{}{}", results.empty() ? " -> " : ", ", type(v));
    line("function {}({}){}", f.name, parameters, results);
    ++depth_;
    block(f.body);
    line("return{}{}", f.returns.empty() ? "" : " ", values(f.returns));
    --depth_;
  }

  void print_kernel(const Kernel& k) {
    kernel_ = &k;
    types_ = &k.types;
    text_ += '\n';
    std::string launch = k.threadgroups != 0 ? fmt::format("threadgroups {}", k.threadgroups)
                                             : fmt::format("rows_per_threadgroup {}", k.rows_per_threadgroup);
    if (k.cols_per_threadgroup != 0) launch += fmt::format(" cols_per_threadgroup {}", k.cols_per_threadgroup);
    if (k.threadgroups_per_row != 1) launch += fmt::format(" threadgroups_per_row {}", k.threadgroups_per_row);
    if (k.cluster != 1) launch += fmt::format(" cluster {}", k.cluster);
    if (k.programmatic_launch) launch += " programmatic_launch";
    line("kernel {} simd_width {} simd_groups {} {}", k.name, k.simd_width, k.simd_groups, launch);
    ++depth_;
    for (const Argument& a : k.arguments) {
      line("{} {}: {}{}{} role {}{}", a.buffer ? "buffer" : "scalar", a.name, element_name(a.type), shape_text(a.shape),
           a.memory_of ? " of " + name(k.arguments, *a.memory_of) : "", role_name(a.role),
           a.index != 0 ? fmt::format(" {}", a.index) : "");
    }
    for (const SharedArray& a : k.shared) line("shared {}: {}[{}]", a.name, element_name(a.type), a.size);
    for (const RegisterArray& a : k.registers) line("register {}: {}[{}]", a.name, element_name(a.type), a.size);
    line("body");
    ++depth_;
    block(k.body);
    depth_ -= 2;
    kernel_ = nullptr;
  }

  void block(const std::vector<Statement>& statements) {
    for (const Statement& s : statements) {
      comment(s.comment);
      line("{}", opening(s));
      if (s.op != Op::loop && s.op != Op::branch) continue;
      nested(s.body);
      if (!s.otherwise.empty()) {
        line("else");
        nested(s.otherwise);
      }
      line("end");
    }
  }

  /// The statement's first line; a loop's or branch's blocks follow it.
  std::string opening(const Statement& s) const {
    if (s.op == Op::loop)
      return fmt::format("for %{} = {} to {} step {}", s.result, operand(s, 0), operand(s, 1), operand(s, 2));
    if (s.op == Op::branch) return fmt::format("if {}", operand(s, 0));
    return results(s) + expression(s);
  }

  void nested(const std::vector<Statement>& statements) {
    ++depth_;
    block(statements);
    --depth_;
  }

  void comment(std::string_view text) {
    if (text.empty()) return;
    for (;;) {
      const std::size_t end = text.find('\n');
      const std::string_view part = text.substr(0, end);
      line("#{}{}", part.empty() ? "" : " ", part);
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }

  static std::string shape_text(const std::vector<Dimension>& shape) {
    std::string text;
    for (const Dimension& d : shape) {
      text += text.empty() ? "[" : ", ";
      if (d.of == Dimension::Of::fixed) text += fmt::format("{}", d.amount);
      if (d.of != Dimension::Of::fixed) text += d.of == Dimension::Of::rows ? "rows" : "cols";
      if (d.of != Dimension::Of::fixed && d.amount != 1) text += fmt::format("/{}", d.amount);
    }
    return text.empty() ? text : text + "]";
  }

  static std::string results(const Statement& s) {
    if (s.results == 0) return "";
    if (s.results == 1) return fmt::format("%{} = ", s.result);
    return fmt::format("%{}..%{} = ", s.result, std::uint64_t{s.result} + s.results - 1);
  }

  std::string constant(const Statement& s) const {
    if (s.result >= types_->size()) return "?";
    switch ((*types_)[s.result]) {
      case ElementType::boolean: return s.bits != 0 ? "true" : "false";
      case ElementType::f32: {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(s.bits));
        return std::isnan(value) ? fmt::format("{:#010x}", static_cast<std::uint32_t>(s.bits))
                                 : fmt::format("{}", value);
      }
      default: return fmt::format("{}", integer_value((*types_)[s.result], s.bits));
    }
  }

  static std::string hints(const Statement& s) {
    return (s.alignment != 1 ? fmt::format(" align {}", s.alignment) : "") + (s.streaming ? " streaming" : "");
  }

  std::string expression(const Statement& s) const {
    static const Kernel kNone;
    const Kernel& k = kernel_ != nullptr ? *kernel_ : kNone;
    switch (s.op) {
      case Op::constant: return fmt::format("constant {} {}", type(s.result), constant(s));
      case Op::argument: return fmt::format("argument {}", name(k.arguments, s.a));
      case Op::convert:
      case Op::bitcast: return fmt::format("{} {} to {}", op_name(s.op), values(s.operands), type(s.result));
      case Op::call: return fmt::format("call {}({})", name(module_.functions, s.a), values(s.operands));
      case Op::get: return fmt::format("get {}[{}]", name(k.registers, s.a), s.b);
      case Op::set: return fmt::format("set {}[{}] = {}", name(k.registers, s.a), s.b, values(s.operands));
      case Op::load: return fmt::format("load {}[{}]{}", name(k.arguments, s.a), operand(s, 0), hints(s));
      case Op::store:
        return fmt::format("store {}[{}] = {}{}", name(k.arguments, s.a), operand(s, 0), values(s.operands, 1),
                           hints(s));
      case Op::shared_load: return fmt::format("shared_load {}[{}]", name(k.shared, s.a), operand(s, 0));
      case Op::shared_store:
        return fmt::format("shared_store {}[{}] = {}", name(k.shared, s.a), operand(s, 0), values(s.operands, 1));
      case Op::peer_load:
        return fmt::format("peer_load {}[{}] of {}", name(k.shared, s.a), operand(s, 1), operand(s, 0));
      case Op::peer_store:
        return fmt::format("peer_store {}[{}] of {} = {}", name(k.shared, s.a), operand(s, 1), operand(s, 0),
                           values(s.operands, 2));
      case Op::exchange: return fmt::format("exchange {} = {}", name(k.shared, s.a), values(s.operands));
      case Op::shuffle_xor:
      case Op::shuffle_down: return fmt::format("{} {} by {}", op_name(s.op), values(s.operands), s.b);
      case Op::permute2: return fmt::format("permute2 {} table {}", values(s.operands), fmt::join(s.table, " "));
      case Op::fold_lanes:
        return fmt::format("fold_lanes {}({}) first_bit {} bits {}", name(module_.functions, s.a), values(s.operands),
                           s.b, s.count);
      default: return fmt::format("{}{}{}", op_name(s.op), s.operands.empty() ? "" : " ", values(s.operands));
    }
  }

  const Module& module_;
  const Kernel* kernel_ = nullptr;
  const std::vector<ElementType>* types_ = nullptr;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string print(const Module& module) { return Printer(module).run(); }

std::string statement_text(const Module& module, const Kernel& kernel, const Statement& statement) {
  return Printer(module).statement(kernel, statement);
}

}  // namespace lanefold::lane
