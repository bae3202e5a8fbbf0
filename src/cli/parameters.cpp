#include "cli/parameters.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/values.h"
#include "ir/parameters.h"
#include "verify/standard_inputs.h"

namespace lanefold::cli {

Result<std::vector<GivenNumber>> given_numbers(const ir::Program& declared, const SizeFlags& flags) {
  std::vector<GivenNumber> numbers;
  for (const auto& [option, texts] : {std::pair("--option", &flags.options), std::pair("--set", &flags.set)}) {
    LANEFOLD_TRY(const Assignments given, parse_assignments(option, *texts));
    for (const auto& [name, text] : given) {
      const std::string place = fmt::format("{} {}={}", option, name, text);
      const auto at = [&place](Diagnostic fault) {
        fault.place = place;
        return fault;
      };
      const std::optional<std::size_t> found = ir::find_parameter(declared, name);
      if (!found) return at(ir::unknown_parameter(declared, name));
      if (std::any_of(numbers.begin(), numbers.end(), [&](const GivenNumber& n) { return n.parameter == *found; }))
        return at(ir::repeated_parameter(declared, name));
      LANEFOLD_TRY(const double written, parse_number(place, text));
      if (const auto fault = ir::value_fault(declared, *found, written)) return at(*fault);
      LANEFOLD_TRY(const float value, parse_real(place, text));
      numbers.push_back(
          {*found, name, value, declared.parameters[*found].option || std::string_view(option) == "--option"});
    }
  }
  return numbers;
}

Result<std::vector<float>> parameter_values(const ir::Program& program, const ir::Program& declared,
                                            const SizeFlags& flags) {
  std::vector<float> values = verify::default_parameters(program);
  LANEFOLD_TRY(const std::vector<GivenNumber> numbers, given_numbers(declared, flags));
  for (const GivenNumber& number : numbers)
    if (const auto found = ir::find_parameter(program, number.name)) values[*found] = number.value;
  return values;
}

}  // namespace lanefold::cli
