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
  /// One id for several values, the places of an inner axis: an operation on it is one on each.
  ValueId bundle(std::vector<ValueId> places);
  /// The values that the id stands for: itself, where it is no bundle.
  std::vector<ValueId> places(ValueId id) const;
  bool is_bundle(ValueId id) const { return id >= kBundles && id != kNoValue; }
  /// The places of each operand, as many for all: a value without an inner axis is the same at each place. Faulty where two axes differ.
  Result<std::vector<std::vector<ValueId>>> spread(const std::vector<ValueId>& operands, Place place) const;
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

  /// Of a bundle: its first place, whose type and kind the others have too.
  const Value& value(ValueId id) const { return values_.at(is_bundle(id) ? bundles_.at(id - kBundles)[0] : id); }
  ValueType type(ValueId id) const { return {value(id).type, value(id).kind}; }
  ValueId size() const { return static_cast<ValueId>(values_.size()); }
  std::vector<Value> take_values() { return std::move(values_); }
  const std::string& file() const { return file_; }
  /// The diagnostic with its place in this body's file.
  Diagnostic at(Diagnostic fault, Place place) const;

  /// Keeps the first fault of operations that cannot return one (operators on Expr).
  void note(Diagnostic fault);
  const std::optional<Diagnostic>& fault() const { return fault_; }

 private:
  static constexpr ValueId kBundles = ValueId{1} << 31;

  std::string file_;
  std::vector<Value> values_;
  std::vector<std::vector<ValueId>> bundles_;
  std::map<ValueId, std::int32_t> undecided_;  ///< integers as written, whose type is still open
  std::optional<Diagnostic> fault_;
};

}  // namespace lanefold::ir
