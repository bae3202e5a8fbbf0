// Faults of monoids: their bodies are pure, typed straight-line code over state and element.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "ir/monoid_part.h"
#include "ir/names.h"
#include "ir/typing.h"

namespace lanefold::ir {
namespace {

class MonoidVerifier {
 public:
  MonoidVerifier(const Monoid& monoid, std::string_view file) : monoid_(monoid), file_(file) {}

  std::vector<Diagnostic> take() { return std::move(faults_); }

  void head() {
    if (monoid_.builtin) {
      // Built-in names may be words of the language: max and min are functions too.
    } else if (is_builtin_monoid(monoid_.name)) {
      report(Code::reserved_name, fmt::format("'{}' is a built-in monoid", monoid_.name), "choose another name",
             monoid_.place);
    } else if (std::optional<Diagnostic> fault = name_fault(monoid_.name, "monoid")) {
      report(std::move(*fault), monoid_.place);
    }
    fields(monoid_.state, "state");
    fields(monoid_.element, "element");
    if (!monoid_.identity) return;
    if (monoid_.identity->size() != monoid_.state.size()) {
      report(Code::monoid_values,
             fmt::format("the identity of monoid '{}' has {} values for {} state fields", monoid_.name,
                         monoid_.identity->size(), monoid_.state.size()),
             "", monoid_.place);
      return;
    }
    for (std::size_t i = 0; i < monoid_.state.size(); ++i) {
      if (is_literal(monoid_.state[i].type, (*monoid_.identity)[i])) continue;
      report(Code::literal_out_of_range,
             fmt::format("{} is no {} number", (*monoid_.identity)[i], element_name(monoid_.state[i].type)), "",
             monoid_.place);
    }
  }

  void part(MonoidPart which) {
    const Body& body = part_body(monoid_, which);
    const std::vector<Field> parameters = part_parameters(monoid_, which);
    if (!well_formed(body, parameters, which)) return;
    std::set<std::string> names;
    for (const Field& field : parameters) names.insert(field.name);
    for (const Value& value : body.values) {
      if (value.op == Op::parameter) continue;
      check_type(body, value);
      if (value.name.empty()) continue;
      if (std::optional<Diagnostic> fault = name_fault(value.name, "value")) report(std::move(*fault), value.place);
      if (!names.insert(value.name).second) {
        report(Code::duplicate_name, fmt::format("'{}' is defined already", value.name), "", value.place);
      }
    }
    results(body, which);
  }

 private:
  void report(Diagnostic fault, Place place) {
    fault.place = place_text(file_, place);
    faults_.push_back(std::move(fault));
  }
  void report(Code code, std::string message, std::string hint, Place place) {
    report({code, std::move(message), std::move(hint), ""}, place);
  }
  void malformed(MonoidPart which, std::string_view message, Place place) {
    report(Code::malformed_program, fmt::format("{} of monoid '{}' {}", part_name(which), monoid_.name, message),
           "build monoids with MonoidBuilder or parse them", place);
  }

  void fields(const std::vector<Field>& list, std::string_view what) {
    if (list.empty()) {
      report(Code::monoid_values, fmt::format("monoid '{}' has no {} field", monoid_.name, what), "", monoid_.place);
    }
    if (list.size() > kMaxNames) {
      report(Code::too_many_names,
             fmt::format("monoid '{}' has {} {} fields; at most {} are allowed", monoid_.name, list.size(), what,
                         kMaxNames),
             "", monoid_.place);
    }
    for (const Field& field : list) {
      if (std::optional<Diagnostic> fault = name_fault(field.name, "field")) report(std::move(*fault), monoid_.place);
      if (!field_names_.insert(field.name).second) {
        report(Code::duplicate_name, fmt::format("two fields of monoid '{}' are named '{}'", monoid_.name, field.name),
               "", monoid_.place);
      }
      if (field.type != ElementType::f32 && field.type != ElementType::i32 && field.type != ElementType::boolean) {
        report(Code::type_mismatch,
               fmt::format("field '{}' of monoid '{}' is {}", field.name, monoid_.name, element_name(field.type)),
               "a field is f32, i32 or bool", monoid_.place);
      }
    }
  }

  bool well_formed(const Body& body, const std::vector<Field>& parameters, MonoidPart which) {
    const std::size_t before = faults_.size();
    for (ValueId id = 0; id < body.values.size(); ++id) {
      const Value& value = body.values[id];
      if (value.op == Op::input || value.op == Op::col || value.op == Op::cols || value.op == Op::rows ||
          value.op == Op::gather || value.op == Op::fold_result) {
        report(Code::impure_monoid,
               fmt::format("{} of monoid '{}' uses '{}'", part_name(which), monoid_.name, op_name(value.op)),
               "a monoid sees its state and its element only; pass what it needs as an element field", value.place);
      }
      const bool is_parameter = value.op == Op::parameter;
      if (is_parameter != (id < parameters.size()) ||
          (is_parameter && (value.index != id || value.type != parameters[id].type))) {
        malformed(which, "does not begin with its parameters in order", value.place);
        return false;
      }
      if (value.operands.size() != op_operands(value.op))
        malformed(which, "has an operation with a wrong number of operands", value.place);
      if (value.kind != Kind{}) malformed(which, "has a value that is not uniform", value.place);
      for (ValueId operand : value.operands) {
        if (operand >= id) malformed(which, "uses a value before it is defined", value.place);
      }
    }
    if (body.values.size() < parameters.size()) malformed(which, "lacks parameters", monoid_.place);
    for (ValueId result : body.results) {
      if (result >= body.values.size()) malformed(which, "gives something that is no value", monoid_.place);
    }
    return faults_.size() == before;
  }

  void check_type(const Body& body, const Value& value) {
    if (value.op == Op::constant) {
      if (value.type != ElementType::i8 && is_literal(value.type, value.literal)) return;
      report(Code::literal_out_of_range, fmt::format("{} is no {} number", value.literal, element_name(value.type)), "",
             value.place);
      return;
    }
    std::vector<ValueType> types;
    for (ValueId operand : value.operands) types.push_back({body.values[operand].type, {}});
    const Result<ValueType> expected =
        value.op == Op::convert ? infer_convert(value.type, types.at(0)) : infer(value.op, types);
    if (!expected) {
      report(expected.error(), value.place);
    } else if (expected->type != value.type) {
      report(Code::malformed_program,
             fmt::format("'{}' is marked {}, and is {}", op_name(value.op), element_name(value.type),
                         element_name(expected->type)),
             "", value.place);
    }
  }

  void results(const Body& body, MonoidPart which) {
    if (which == MonoidPart::finish) {
      if (body.results.empty()) {
        report(Code::monoid_values, fmt::format("finish of monoid '{}' gives no value", monoid_.name), "",
               monoid_.place);
      }
      if (body.results.size() > kMaxNames) {
        report(Code::too_many_names,
               fmt::format("finish of monoid '{}' gives {} values; at most {} are allowed", monoid_.name,
                           body.results.size(), kMaxNames),
               "", monoid_.place);
      }
      return;
    }
    if (body.results.size() != monoid_.state.size()) {
      report(Code::monoid_values,
             fmt::format("{} of monoid '{}' gives {} values for {} state fields", part_name(which), monoid_.name,
                         body.results.size(), monoid_.state.size()),
             "give one value per state field", monoid_.place);
      return;
    }
    for (std::size_t i = 0; i < body.results.size(); ++i) {
      const Value& result = body.values[body.results[i]];
      const Field& field = monoid_.state[i];
      if (result.type == field.type) continue;
      report(Code::type_mismatch,
             fmt::format("{} of monoid '{}' gives {} for field '{}', which is {}", part_name(which), monoid_.name,
                         element_name(result.type), field.name, element_name(field.type)),
             "", result.place.line != 0 ? result.place : monoid_.place);
    }
  }

  const Monoid& monoid_;
  std::string_view file_;
  std::set<std::string> field_names_;
  std::vector<Diagnostic> faults_;
};

}  // namespace

std::vector<Diagnostic> verify_head(const Monoid& monoid, std::string_view file) {
  MonoidVerifier verifier(monoid, file);
  verifier.head();
  return verifier.take();
}

std::vector<Diagnostic> verify_part(const Monoid& monoid, MonoidPart part, std::string_view file) {
  MonoidVerifier verifier(monoid, file);
  verifier.part(part);
  return verifier.take();
}

std::vector<Diagnostic> verify_monoid(const Monoid& monoid, std::string_view file) {
  MonoidVerifier verifier(monoid, file);
  verifier.head();
  for (MonoidPart part : kMonoidParts) verifier.part(part);
  return verifier.take();
}

}  // namespace lanefold::ir
