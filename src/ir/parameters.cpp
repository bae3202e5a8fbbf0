#include "ir/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace lanefold::ir {
namespace {

/// The first whole number above all that an i32 holds.
constexpr double kBeyondI32 = 0x1p31;

bool is_whole(double value) {
  return value >= -kBeyondI32 && value < kBeyondI32 && std::trunc(value) == value &&
         static_cast<double>(static_cast<float>(value)) == value;
}

}  // namespace

std::optional<std::size_t> find_parameter(const Program& program, std::string_view name) {
  const auto found = std::find_if(program.parameters.begin(), program.parameters.end(),
                                  [name](const Parameter& parameter) { return parameter.name == name; });
  if (found == program.parameters.end()) return std::nullopt;
  return static_cast<std::size_t>(found - program.parameters.begin());
}

std::vector<bool> whole_parameters(const Program& program) {
  std::vector<bool> as_whole(program.parameters.size(), false), otherwise(program.parameters.size(), false);
  const auto read = [&](ValueId id, bool whole) {
    const Value& value = program.values[id];
    if (value.op == Op::parameter) (whole ? as_whole : otherwise)[value.index] = true;
  };
  for (const Value& value : program.values)
    for (const ValueId operand : value.operands)
      read(operand, value.op == Op::convert && value.type == ElementType::i32);
  for (const Fold& fold : program.folds)
    for (const ValueId argument : fold.arguments) read(argument, false);
  for (const Store& store : program.stores) read(store.value, false);
  for (std::size_t i = 0; i < as_whole.size(); ++i) as_whole[i] = as_whole[i] && !otherwise[i];
  return as_whole;
}

std::optional<Diagnostic> value_fault(const Program& program, std::size_t parameter, double value) {
  if (is_whole(value) || !whole_parameters(program)[parameter]) return std::nullopt;
  const std::string& name = program.parameters[parameter].name;
  return Diagnostic{Code::number_invalid, fmt::format("{} of {} is a whole number, not {}", name, program.name, value),
                    "give a whole number that an i32 and an f32 can hold", name};
}

Diagnostic unknown_parameter(const Program& program, std::string_view name) {
  std::string names;
  for (const Parameter& parameter : program.parameters) names += (names.empty() ? "" : ", ") + parameter.name;
  return {Code::unknown_parameter, fmt::format("{} has no parameter \"{}\"", program.name, name),
          names.empty() ? "it has none: leave it out" : "its parameters are: " + names, program.name};
}

Diagnostic repeated_parameter(const Program& program, std::string_view name) {
  return {Code::assignment_repeated, fmt::format("{} is given twice", name), "give each name once", program.name};
}

}  // namespace lanefold::ir
