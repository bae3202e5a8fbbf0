// Programs of which more is known: constants stand in for absent inputs and options, and what they make idle goes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/float_environment.h"
#include "ir/constant_folding.h"
#include "ir/names.h"
#include "ir/parameters.h"
#include "ir/typing.h"
#include "ir/unused.h"

namespace lanefold::ir {
namespace {

class Specialiser {
 public:
  Specialiser(const Program& program, std::vector<bool> removed, std::vector<std::optional<double>> fixed)
      : old_(program), removed_(std::move(removed)), fixed_(std::move(fixed)) {}

  Result<Program> run() {
    new_.name = old_.name;
    new_.monoids = old_.monoids;
    for (std::size_t i = 0; i < old_.inputs.size(); ++i) {
      input_index_.push_back(static_cast<std::uint32_t>(new_.inputs.size()));
      if (!removed_[i]) new_.inputs.push_back(old_.inputs[i]);
    }
    for (std::size_t i = 0; i < old_.parameters.size(); ++i) {
      parameter_index_.push_back(static_cast<std::uint32_t>(new_.parameters.size()));
      if (!fixed_[i]) new_.parameters.push_back(old_.parameters[i]);
    }
    for (const Value& value : old_.values) LANEFOLD_CHECK(copy(value));
    new_.folds = old_.folds;
    for (Fold& fold : new_.folds) {
      for (ValueId& argument : fold.arguments) argument = ids_[argument];
    }
    new_.stores = old_.stores;
    for (Store& store : new_.stores) store.value = ids_[store.value];
    remove_unused(new_);
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
    return simplest(std::move(value));
  }

  /// The value, or what it comes down to.
  ValueId simplest(Value value) {
    if (const std::optional<ValueId> same = operand_in_its_place(value, new_.values)) {
      Value& kept = new_.values[*same];
      if (kept.name.empty() && !has_own_name(kept.op)) kept.name = std::move(value.name);
      return *same;
    }
    if (const std::optional<double> known = constant_of(value, new_.values)) return constant(value, value.type, *known);
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
    if (original.op == Op::parameter && fixed_[original.index]) {
      ids_.push_back(constant(original, ElementType::f32, *fixed_[original.index]));
      return success();
    }
    Value value = original;
    if (reads) value.index = input_index_[original.index];
    if (original.op == Op::parameter) value.index = parameter_index_[original.index];
    for (ValueId& operand : value.operands) operand = ids_[operand];
    if (!value.operands.empty()) LANEFOLD_CHECK(infer_anew(value));
    ids_.push_back(simplest(std::move(value)));
    return success();
  }

  const Program& old_;
  std::vector<bool> removed_;                   ///< by input
  std::vector<std::optional<double>> fixed_;    ///< by parameter
  std::vector<std::uint32_t> input_index_;      ///< by old input
  std::vector<std::uint32_t> parameter_index_;  ///< by old parameter
  std::vector<ValueId> ids_;                    ///< by old value
  Program new_;
};

/// A bit per input: left out.
Result<std::vector<bool>> absent_inputs(const Program& program, const std::vector<std::string>& absent) {
  std::vector<bool> removed(program.inputs.size(), false);
  for (const std::string& name : absent) {
    bool found = false;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const Input& input = program.inputs[i];
      if (input.name != name && input.part.of != name) continue;
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
  return removed;
}

/// By parameter: the value that it always has. Options that are not given have their default.
Result<std::vector<std::optional<double>>> fixed_parameters(const Program& program,
                                                            const std::vector<std::pair<std::string, double>>& given) {
  std::vector<std::optional<double>> fixed(program.parameters.size());
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (program.parameters[i].option) fixed[i] = program.parameters[i].value;
  }
  for (const std::pair<std::string, double>& option : given) {
    const std::string& name = option.first;
    const std::optional<std::size_t> found = find_parameter(program, name);
    if (!found) return unknown_parameter(program, name);
    if (std::count_if(given.begin(), given.end(), [&name](const auto& other) { return other.first == name; }) > 1)
      return repeated_parameter(program, name);
    if (std::optional<Diagnostic> fault = value_fault(program, *found, option.second)) return *fault;
    fixed[*found] = as_f32(option.second);
  }
  return fixed;
}

}  // namespace

Result<Program> specialise(const Program& program, const Known& known) {
  LANEFOLD_TRY(std::vector<bool> removed, absent_inputs(program, known.absent));
  LANEFOLD_TRY(std::vector<std::optional<double>> fixed, fixed_parameters(program, known.options));
  const FloatEnvironment environment;
  return Specialiser(program, std::move(removed), std::move(fixed)).run();
}

}  // namespace lanefold::ir
