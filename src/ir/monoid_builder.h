// Builds monoids in C++; see Monoid for what its parts mean.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/monoid_part.h"
#include "ir/program.h"

namespace lanefold::ir {

class MonoidBuilder {
 public:
  using Exprs = std::vector<Expr>;

  MonoidBuilder(std::string name, std::vector<Field> state, std::vector<Field> element, std::string file = "monoid",
                Place place = {});

  /// One value per state field. Give it only where exact: see Monoid::identity.
  void identity(std::vector<double> values) { monoid_.identity = std::move(values); }
  /// The state of one element. Without it: step(identity, element).
  void lift(const std::function<Exprs(const Exprs& element)>& part);
  /// A state and the next element. Without it: merge(state, lift(element)).
  void step(const std::function<Exprs(const Exprs& state, const Exprs& element)>& part);
  void merge(const std::function<Exprs(const Exprs& left, const Exprs& right)>& part);
  /// What the fold gives. Without it: the state's fields.
  void finish(const std::function<Exprs(const Exprs& state)>& part);

  /// The verified monoid, or the first fault. The builder is spent.
  Result<Monoid> build();

  // For the parser: one of the library's own monoids; a part's body with its parameters in place, and its completion.
  void mark_builtin() { monoid_.builtin = true; }
  BodyBuilder begin(MonoidPart part) const;
  /// Keeps the part; results are brought to the types of the state's fields where that happens by itself.
  void end(MonoidPart part, BodyBuilder body, std::vector<ValueId> results);
  const Monoid& monoid() const { return monoid_; }

 private:
  void complete(MonoidPart part, BodyBuilder& body, const Exprs& results);
  bool has(MonoidPart part) const { return has_[static_cast<std::size_t>(part)]; }
  /// Stands the missing parts in; a diagnostic where nothing can.
  Status fill();

  Monoid monoid_;
  std::string file_;
  bool has_[4] = {false, false, false, false};
  std::optional<Diagnostic> fault_;
};

}  // namespace lanefold::ir
