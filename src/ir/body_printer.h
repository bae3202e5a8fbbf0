// Prints the values of a body: which become statements, under which names, and the expressions of all others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/program.h"

namespace lanefold::ir {

class BodyPrinter {
 public:
  /// Expressions nest at most so deep; deeper values get a name. Well below the parser's limit.
  static constexpr std::uint32_t kMaxDepth = 40;

  /// For a program.
  explicit BodyPrinter(const Program& program);
  /// For a part of a monoid, whose parameters have these names.
  BodyPrinter(const Body& body, std::vector<std::string> parameters);

  struct Statement {
    std::vector<std::string> names;
    std::string expression;
  };
  /// The values that are named, used several times or nested deeply, in order of definition.
  std::vector<Statement> statements() const;
  /// The expression that stands for a value where it is used.
  std::string use(ValueId id) const { return text(id, 0); }

 private:
  bool is_tuple(const Value& value) const;
  void count_uses(const std::vector<ValueId>& results);
  void choose_statements();
  void choose_names(std::set<std::string> taken);
  const std::vector<ValueId>& operands(ValueId id) const;
  std::string text(ValueId id, int min_level) const;
  std::string expression(const Value& value, int min_level) const;
  std::string fold(const Value& value) const;
  std::string list(const std::vector<ValueId>& ids) const;

  const Program* program_ = nullptr;
  const std::vector<Value>& values_;
  std::vector<std::string> parameters_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> is_statement_;
  std::vector<std::string> names_;
  /// By fold with several results: the names of all of them, and the value at which they are defined.
  std::vector<std::vector<std::string>> tuple_names_;
  std::vector<ValueId> tuple_place_;
};

}  // namespace lanefold::ir
