// The structural checks of one body, statement by statement.
#pragma once

#include <string>
#include <vector>

#include "lane/module.h"
#include "lane/typing.h"

namespace lanefold::lane {

/// True of what a buffer or threadgroup array can hold.
bool is_storage_type(ElementType type);

/// Checks the statements of one kernel or function body and appends what it finds.
class StatementChecker {
 public:
  StatementChecker(const Module& module, const std::string& owner, const std::vector<ElementType>& types,
                   std::vector<Diagnostic>& faults)
      : module_(module),
        owner_(owner),
        types_(types),
        faults_(faults),
        states_(types.size(), State::undefined),
        constants_(types.size(), 1) {}

  /// The body of a function, which may call only those before `index`.
  void check_function(const Function& function, std::size_t index);
  void check_kernel(const Kernel& kernel);

 private:
  enum class State : std::uint8_t { undefined, visible, ended };

  void block(const std::vector<Statement>& statements, std::size_t depth, const std::vector<ValueId>& preset);
  void statement(const Statement& s, std::size_t depth, std::vector<ValueId>& defined);
  bool operands_visible(const Statement& s);
  bool define(const Statement& s, std::vector<ValueId>& defined);
  void placement(const Statement& s);
  bool indices(const Statement& s);
  bool counts(const Statement& s);
  bool fold_shape(const Statement& s);
  void exchanged_array(const Statement& s, const SharedArray& array);
  void attributes(const Statement& s);
  void result_types(const Statement& s);
  void operand_types(const Statement& s);
  void memory_types(const Statement& s);
  void call_types(const Statement& s);

  ElementType operand(const Statement& s, std::size_t i) const { return types_[s.operands[i]]; }
  ElementType result(const Statement& s, std::size_t i = 0) const { return types_[s.result + i]; }
  void expect(ElementType found, ElementType wanted, const Statement& s, const std::string& what);
  void fault(Code code, const Statement& s, std::string message, std::string hint);

  const Module& module_;
  const std::string& owner_;
  const std::vector<ElementType>& types_;
  std::vector<Diagnostic>& faults_;
  std::vector<State> states_;
  std::vector<std::int64_t> constants_;  ///< of integer constants; 1 where unknown
  std::string path_;
  const Kernel* kernel_ = nullptr;
  std::size_t callable_ = 0;
};

}  // namespace lanefold::lane
