// Programs with optional inputs left out: constants stand in, and types and kinds are inferred anew.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "ir/typing.h"

namespace lanefold::ir {
namespace {

class Remover {
 public:
  Remover(const Program& program, std::vector<bool> removed) : old_(program), removed_(std::move(removed)) {}

  Result<Program> run() {
    new_.name = old_.name;
    new_.parameters = old_.parameters;
    new_.monoids = old_.monoids;
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < old_.inputs.size(); ++i) {
      input_index_.push_back(kept);
      if (removed_[i]) continue;
      new_.inputs.push_back(old_.inputs[i]);
      ++kept;
    }
    for (const Value& value : old_.values) LANEFOLD_CHECK(copy(value));
    new_.folds = old_.folds;
    for (Fold& fold : new_.folds) {
      for (ValueId& argument : fold.arguments) argument = ids_[argument];
    }
    new_.stores = old_.stores;
    for (Store& store : new_.stores) store.value = ids_[store.value];
    if (std::vector<Diagnostic> faults = verify(new_, new_.name); !faults.empty()) return faults.front();
    return std::move(new_);
  }

 private:
  Value like(const Value& original, Op op) const {
    Value value;
    value.op = op;
    value.place = original.place;
    return value;
  }

  ValueId add(Value value) {
    new_.values.push_back(std::move(value));
    return static_cast<ValueId>(new_.values.size() - 1);
  }

  ValueId constant(const Value& original, ElementType type, double literal) {
    Value value = like(original, Op::constant);
    value.type = type;
    value.literal = literal;
    return add(std::move(value));
  }

  /// Brings type and kind of a value with mapped operands up to date.
  Status infer_anew(Value& value) const {
    std::vector<ValueType> types;
    for (ValueId operand : value.operands) types.push_back({new_.values[operand].type, new_.values[operand].kind});
    Result<ValueType> type = value.op == Op::gather    ? infer_gather(new_.inputs[value.index], types.at(0))
                             : value.op == Op::convert ? infer_convert(value.type, types.at(0))
                                                       : infer(value.op, types);
    if (!type) {
      Diagnostic fault = type.error();
      fault.place = place_text(new_.name, value.place);
      return fault;
    }
    value.type = type->type;
    value.kind = type->kind;
    return success();
  }

  Result<ValueId> operation(const Value& original, Op op, std::vector<ValueId> operands) {
    Value value = like(original, op);
    value.operands = std::move(operands);
    LANEFOLD_CHECK(infer_anew(value));
    return add(std::move(value));
  }

  /// A gather from a constant input: the constant where the index is a column, else what gather gives outside.
  Result<ValueId> gathered_constant(const Value& original, ElementType type, double literal) {
    const ValueId index = ids_[original.operands[0]];
    Value width = like(original, Op::cols);
    width.type = ElementType::i32;
    const ValueId cols = add(std::move(width));
    const ValueId zero = constant(original, ElementType::i32, 0);
    LANEFOLD_TRY(const ValueId not_below, operation(original, Op::ge, {index, zero}));
    LANEFOLD_TRY(const ValueId not_above, operation(original, Op::lt, {index, cols}));
    LANEFOLD_TRY(const ValueId inside, operation(original, Op::logical_and, {not_below, not_above}));
    const ValueId value = constant(original, type, literal);
    const ValueId outside =
        constant(original, type, type == ElementType::f32 ? std::numeric_limits<double>::quiet_NaN() : 0.0);
    LANEFOLD_TRY(const ValueId result, operation(original, Op::select, {inside, value, outside}));
    new_.values[result].name = original.name;
    return result;
  }

  Status copy(const Value& original) {
    const bool reads = original.op == Op::input || original.op == Op::gather;
    if (reads && removed_[original.index]) {
      const Input& input = old_.inputs[original.index];
      const ElementType type = register_type(input.storage);
      if (original.op == Op::input) {
        ids_.push_back(constant(original, type, *input.absent));
      } else {
        LANEFOLD_TRY(const ValueId value, gathered_constant(original, type, *input.absent));
        ids_.push_back(value);
      }
      return success();
    }
    Value value = original;
    if (reads) value.index = input_index_[original.index];
    for (ValueId& operand : value.operands) operand = ids_[operand];
    if (!value.operands.empty()) LANEFOLD_CHECK(infer_anew(value));
    ids_.push_back(add(std::move(value)));
    return success();
  }

  const Program& old_;
  std::vector<bool> removed_;
  std::vector<std::uint32_t> input_index_;  ///< by old input
  std::vector<ValueId> ids_;                ///< by old value
  Program new_;
};

}  // namespace

Result<Program> without_inputs(const Program& program, const std::vector<std::string>& absent) {
  std::vector<bool> removed(program.inputs.size(), false);
  for (const std::string& name : absent) {
    bool found = false;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const Input& input = program.inputs[i];
      if (input.name != name) continue;
      found = true;
      removed[i] = true;
      if (!input.absent) {
        return Diagnostic{Code::input_required,
                          fmt::format("input '{}' of '{}' has no stand-in and must be given", name, program.name),
                          fmt::format("give it, or declare '{}: … = NUMBER' in the program", name),
                          place_text(program.name, input.place)};
      }
    }
    if (!found) {
      return Diagnostic{Code::unknown_name, fmt::format("program '{}' has no input '{}'", program.name, name), "",
                        program.name};
    }
  }
  return Remover(program, std::move(removed)).run();
}

}  // namespace lanefold::ir
