#include "ir/print.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/body_printer.h"
#include "ir/monoid_part.h"

namespace lanefold::ir {
namespace {

std::string fields(const std::vector<Field>& list) {
  std::string result;
  for (const Field& field : list) {
    result += fmt::format("{}{}: {}", result.empty() ? "" : ", ", field.name, element_name(field.type));
  }
  return result;
}

std::string part(const Monoid& monoid, MonoidPart which) {
  std::vector<std::string> names;
  for (const Field& field : part_parameters(monoid, which)) names.push_back(field.name);
  const Body& body = part_body(monoid, which);
  const BodyPrinter printer(body, std::move(names));
  std::string result;
  for (const BodyPrinter::Statement& local : printer.statements()) {
    result += fmt::format("let {} = {}, ", local.names[0], local.expression);
  }
  for (std::size_t i = 0; i < body.results.size(); ++i) result += (i == 0 ? "" : ", ") + printer.use(body.results[i]);
  return fmt::format("  {} = {}\n", part_name(which), result);
}

std::string head(const Program& program) {
  std::string arguments;
  const auto add = [&arguments](const std::string& argument) {
    arguments += (arguments.empty() ? "" : ", ") + argument;
  };
  for (const Input& input : program.inputs) {
    const std::string absent = input.absent ? " = " + print_number(*input.absent, register_type(input.storage)) : "";
    add(fmt::format("{}: {}{}{}", input.name, element_name(input.storage), print_shape(input.kind), absent));
  }
  for (const Parameter& parameter : program.parameters) {
    add(fmt::format("{}{} = {}", parameter.name, parameter.option ? ": option" : "",
                    print_number(parameter.value, ElementType::f32)));
  }
  return fmt::format("program {}({})\n", program.name, arguments);
}

}  // namespace

std::string print_number(double value, ElementType type) {
  if (type == ElementType::boolean) return value != 0 ? "true" : "false";
  if (type != ElementType::f32) return fmt::format("{}", static_cast<std::int64_t>(value));
  if (std::isnan(value)) return "nan";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0";
  return fmt::format("{}", static_cast<float>(value));
}

std::string print_shape(Kind kind) {
  switch (kind.tag) {
    case Kind::Tag::row: return "[rows]";
    case Kind::Tag::column: return "[cols]";
    case Kind::Tag::block: return fmt::format("[rows, cols/{}]", kind.block);
    case Kind::Tag::element: return "[rows, cols]";
    case Kind::Tag::uniform: break;
  }
  internal_error("the shape of a uniform value");
}

std::string print_monoid(const Monoid& monoid) {
  std::string result =
      fmt::format("monoid {}({}) of ({})\n", monoid.name, fields(monoid.state), fields(monoid.element));
  if (monoid.identity) {
    std::string values;
    for (std::size_t i = 0; i < monoid.identity->size(); ++i) {
      values += (i == 0 ? "" : ", ") + print_number((*monoid.identity)[i], monoid.state.at(i).type);
    }
    result += fmt::format("  identity = {}\n", values);
  }
  for (MonoidPart which : kMonoidParts) result += part(monoid, which);
  return result;
}

std::string print(const Program& program) {
  std::string result;
  for (const Monoid& monoid : program.monoids) {
    if (!monoid.builtin) result += print_monoid(monoid) + "\n";
  }
  result += head(program);
  const BodyPrinter printer(program);
  for (const BodyPrinter::Statement& statement : printer.statements()) {
    std::string names;
    for (const std::string& name : statement.names) names += (names.empty() ? "" : ", ") + name;
    result += fmt::format("  {} = {}\n", names, statement.expression);
  }
  for (const Store& store : program.stores) {
    result += fmt::format("  store {}: {}{} = {}\n", store.name, element_name(store.storage), print_shape(store.kind),
                          printer.use(store.value));
  }
  return result;
}

}  // namespace lanefold::ir
