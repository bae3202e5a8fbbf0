// Builds straight-line code: appends values, infers their types and kinds, and brings numbers to one type.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/typing.h"

namespace lanefold::ir {

/// A number as written. One that is written as an integer becomes i32 where an i32 is wanted, and is f32 elsewhere.
struct Number {
  float value = 0;
  std::optional<std::int32_t> integer;  ///< the exact value, where written as an integer that fits
};

/// The values of one body under construction. Parser and builders share it, so types are inferred in one place.
class BodyBuilder {
 public:
  explicit BodyBuilder(std::string file) : file_(std::move(file)) {}

  /// Appends a value as it stands.
  ValueId append(Value value);
  ValueId number(Number number, Place place);
  ValueId boolean(bool value, Place place);
  /// An operation spelt as function or infix; converts i32 to f32 where the operands do not agree.
  Result<ValueId> operation(Op op, std::vector<ValueId> operands, Place place);
  /// f32(x) or i32(x); nothing is appended where the value has the type already.
  Result<ValueId> convert(ElementType to, ValueId operand, Place place);
  /// The value as `type`, as far as that happens by itself: an integer as written becomes i32, i32 becomes f32.
  ValueId coerce(ValueId id, ElementType type);
  /// Copies another body's values in, with `arguments` for its parameters; gives the copies of its results.
  std::vector<ValueId> inline_body(const Body& body, const std::vector<ValueId>& arguments);

  /// Gives a name to a value just built. A leaf, and a value that has one already, keep what they have.
  void set_name(ValueId id, std::string name);

  const Value& value(ValueId id) const { return values_.at(id); }
  ValueType type(ValueId id) const { return {values_.at(id).type, values_.at(id).kind}; }
  ValueId size() const { return static_cast<ValueId>(values_.size()); }
  std::vector<Value> take_values() { return std::move(values_); }
  const std::string& file() const { return file_; }
  /// The diagnostic with its place in this body's file.
  Diagnostic at(Diagnostic fault, Place place) const;

  /// Keeps the first fault of operations that cannot return one (operators on Expr).
  void note(Diagnostic fault);
  const std::optional<Diagnostic>& fault() const { return fault_; }

 private:
  std::string file_;
  std::vector<Value> values_;
  std::map<ValueId, std::int32_t> undecided_;  ///< integers as written, whose type is still open
  std::optional<Diagnostic> fault_;
};

}  // namespace lanefold::ir
