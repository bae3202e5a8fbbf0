#include "api/names.h"

#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/failure.h"

namespace lanefold::api {
namespace {

/// The words for one sort of argument: what it is, and the code where a name is not one of them.
struct Sort {
  const char* what;
  Code unknown;
};

/// For each declared name, the index of the argument given for it.
template <class Declared, class Given>
std::vector<std::optional<std::size_t>> find_names(const ir::Program& program, const std::vector<Declared>& declared,
                                                   const std::vector<Given>& given, Sort sort) {
  std::vector<std::optional<std::size_t>> found(declared.size());
  for (std::size_t g = 0; g < given.size(); ++g) {
    std::size_t d = 0;
    while (d < declared.size() && declared[d].name != given[g].name) ++d;
    if (d == declared.size()) {
      std::vector<std::string_view> names;
      for (const Declared& one : declared) names.push_back(one.name);
      fail({sort.unknown, fmt::format("{} has no {} \"{}\"", program.name, sort.what, given[g].name),
            names.empty() ? fmt::format("it has no {}s", sort.what)
                          : fmt::format("its {}s are: {}", sort.what, fmt::join(names, ", ")),
            fmt::format("{} {}", sort.what, given[g].name)});
    }
    if (found[d])
      fail({Code::assignment_repeated, fmt::format("{} {} is given twice", sort.what, given[g].name),
            "give each name once", fmt::format("{} {}", sort.what, given[g].name)});
    found[d] = g;
  }
  return found;
}

}  // namespace

Arguments arrange(const ir::Program& program, const Signature& signature, const std::vector<NamedInput>& inputs,
                  const std::vector<NamedOutput>& outputs, const std::vector<NamedParameter>& parameters) {
  Arguments arguments;
  const auto found_inputs = find_names(program, signature.inputs, inputs, {"input", Code::unknown_input});
  for (std::size_t i = 0; i < found_inputs.size(); ++i) {
    const Declared& input = signature.inputs[i];
    if (!found_inputs[i])
      fail({Code::input_missing, fmt::format("input {} of {} is not given", input.name, program.name),
            input.has_stand_in
                ? fmt::format("give it, or compile the kernel with \"{}\" among its absent inputs", input.name)
                : std::string("give it"),
            "input " + input.name});
    arguments.inputs.push_back(inputs[*found_inputs[i]].tensor);
  }
  const auto found_outputs = find_names(program, signature.outputs, outputs, {"output", Code::unknown_output});
  for (std::size_t i = 0; i < found_outputs.size(); ++i) {
    const Declared& store = signature.outputs[i];
    if (!found_outputs[i])
      fail({Code::call_count_mismatch, fmt::format("output {} of {} is not given", store.name, program.name),
            "a kernel writes all of its outputs: give each one memory", "output " + store.name});
    arguments.outputs.push_back(outputs[*found_outputs[i]].tensor);
  }
  const auto found_parameters =
      find_names(program, program.parameters, parameters, {"parameter", Code::unknown_parameter});
  for (std::size_t i = 0; i < found_parameters.size(); ++i)
    arguments.parameters.push_back(found_parameters[i] ? parameters[*found_parameters[i]].value
                                                       : static_cast<float>(program.parameters[i].value));
  return arguments;
}

}  // namespace lanefold::api
