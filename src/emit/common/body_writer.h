// Writes the body of a kernel or function: decides names, which values stand inside of others, declarations and blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/common/dialect.h"
#include "emit/common/expression.h"
#include "emit/common/names.h"
#include "emit/common/range.h"
#include "emit/common/sweeps.h"
#include "emit/common/usage.h"
#include "lane/module.h"

namespace lanefold::emit {

/// A value is written where it is used if it is used once, in its own block, or if it is an element of a register array; one
/// that reads memory or a register array only while nothing between may change that. Everything else has a name.
class BodyWriter {
 public:
  /// `function_names`: what the module's functions are called; `names`: those that are taken.
  BodyWriter(const lane::Module& module, Dialect& dialect, const std::vector<std::string>& function_names, Names names);

  /// Names the arguments, in order; to be called before `kernel`.
  const std::vector<std::string>& name_arguments(const lane::Kernel& kernel);
  /// The lines of the kernel's body, from the declarations of its register arrays on, indented once. Threadgroup arrays are the
  /// dialect's, and have the names that shared_name gives.
  std::string kernel(const lane::Kernel& kernel);
  /// The whole body of a function whose parameters have these names; several results come back in the structure `result_type`.
  std::string function(const lane::Function& function, const std::vector<std::string>& parameters,
                       const std::string& result_type);

  // For dialects.
  const lane::Kernel& at() const { return *kernel_; }
  ElementType type_of(lane::ValueId v) const { return (*types_)[v]; }
  const std::string& argument_name(std::uint32_t argument) const { return arguments_[argument]; }
  const std::string& shared_name(std::uint32_t array) const { return shared_[array]; }
  /// A constant integer value, if it is one.
  std::optional<std::int64_t> constant(lane::ValueId v) const;
  /// The text of an operand, to be used once, in what is written next.
  Expression take(lane::ValueId v);
  /// The same, as something simple that may be used any number of times.
  Expression take_named(lane::ValueId v);
  /// The load whose results the register array holds, if the language has a variable for that.
  const lane::Statement* guarded(std::uint32_t array) const;
  /// How often a value is used.
  std::uint32_t uses(lane::ValueId v) const { return usage_->count(v); }
  /// When a text's reads of memory happen: where it is written in the end, or in a line written before it.
  enum class When : std::uint8_t { later, now };
  /// Result `index` of the statement: it is written inside of its use, or declared under a name.
  void give(const lane::Statement& s, std::uint32_t index, Expression value, When reads = When::later);
  /// The same, under a name in any case: for what must happen here.
  void give_named(const lane::Statement& s, std::uint32_t index, const Expression& value);
  /// The same, wherever it is used: a text that is short and of the same value to the end of the block.
  void give_anywhere(const lane::Statement& s, std::uint32_t index, Expression value);
  /// The same, but of an outermost block: each sweep writes it again, under a name if it uses it more than once. For what costs less
  /// to compute again than to keep; its own operands are to be had at all those places.
  void give_in_each_sweep(const lane::Statement& s, std::uint32_t index, Expression value);
  /// Where a barrier or an exchange of the outermost block has been written.
  void begin_sweep();
  /// The sweep at hand, and what each uses.
  std::uint32_t sweep() const { return sweep_; }
  const Sweeps& sweeps() const { return *sweeps_; }
  /// Names what is still to be written and would read what the statement changes; call it between the operands of a statement
  /// that changes something and its own line.
  void settle(const lane::Statement& s);
  /// Declares a constant and returns its name.
  std::string declare(std::string_view type, std::string_view base, const std::string& value);
  void line(const std::string& text);
  /// Writes it as a comment, if it says anything.
  void comment(const std::string& text);
  /// Whether what is declared here can be named to the end of the body.
  bool is_outermost() const { return depth_ == 1; }
  std::string fresh_name(std::string_view base) { return names_.declare(base); }
  /// Says that the text calls the module's function.
  void calls(std::uint32_t function) { called_.insert(function); }
  /// The module's functions that the text calls.
  const std::set<std::uint32_t>& called() const { return called_; }

 private:
  struct Pending {
    lane::ValueId value;
    std::string base;
    Expression text;
    Memory reads;
    std::uint32_t uses;  ///< still to come
  };
  void start(const std::vector<ElementType>& types);
  std::string base_of(const lane::Statement& s) const;
  void declare_registers();
  void block(const std::vector<lane::Statement>& statements);
  /// How many calls from this place on are written as one; 0 where they are not.
  std::size_t together(std::span<const lane::Statement> statements);
  void statement(const lane::Statement& s);
  void branch(const lane::Statement& s);
  void loop(const lane::Statement& s);
  void call(const lane::Statement& s);
  std::vector<Expression> call_function(std::uint32_t function, std::vector<Expression> arguments, bool named);
  void fold_lanes(const lane::Statement& s);
  void arithmetic(const lane::Statement& s);
  void find_leaves(const std::vector<lane::Statement>& block, std::vector<bool>& used) const;
  std::string element(std::uint32_t array, std::uint32_t index) const;
  void define(lane::ValueId v, Expression text) { values_[v] = std::move(text); }

  const lane::Module& module_;
  Dialect& dialect_;
  const std::vector<std::string>& function_names_;
  Names names_;
  const lane::Kernel* kernel_ = nullptr;
  const std::vector<ElementType>* types_ = nullptr;
  std::vector<std::string> arguments_, shared_, registers_, leaves_;
  std::vector<Expression> values_;
  std::vector<std::optional<Range>> ranges_;
  std::vector<Pending> pending_;  ///< in the order of their definitions
  Memory reads_;                  ///< of the operands taken for the statement at hand
  std::optional<Usage> usage_;
  std::set<std::uint32_t> called_;
  std::optional<Sweeps> sweeps_;
  std::uint32_t sweep_ = 0;
  struct Again {
    std::string base;
    Expression text;
    bool is_named = false;  ///< in the sweep at hand
  };
  std::map<lane::ValueId, Again> again_;                            ///< what each sweep writes again
  std::map<std::uint32_t, const lane::Statement*> guarded_arrays_;  ///< with their loads
  std::string text_;
  std::size_t depth_ = 1;
};

/// Appends the line, broken at spaces into lines that are not too long.
void append_line(std::string& text, std::size_t depth, const std::string& line);

}  // namespace lanefold::emit
