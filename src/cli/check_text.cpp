#include "cli/check_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanefold::cli {

std::string check_line(const verify::OutputReport& report) {
  if (report.wrong == 0)
    return fmt::format("{}: {} elements right, max error {:.3g}", report.name, report.elements, report.max_error);
  if (report.first_row < 0) return fmt::format("{}: bytes beside the elements were written", report.name);
  const std::string place = report.first_place < 0 ? "" : fmt::format("{}, ", report.first_place);
  return fmt::format("{}: {} of {} elements wrong, the first at [{}{}, {}]: {:.9g} where {:.9g} is right", report.name,
                     report.wrong, report.elements, place, report.first_row, report.first_column, report.got,
                     report.expected);
}

nlohmann::json check_json(const verify::CheckReport& report) {
  nlohmann::json outputs = nlohmann::json::array();
  for (const verify::OutputReport& output : report.outputs) {
    nlohmann::json entry = {
        {"name", output.name}, {"elements", output.elements}, {"wrong", output.wrong}, {"max_error", output.max_error}};
    if (output.first_row >= 0)
      entry["first"] = {{"row", output.first_row},
                        {"column", output.first_column},
                        {"got", output.got},
                        {"expected", output.expected}};
    if (output.first_place >= 0) entry["first"]["place"] = output.first_place;
    outputs.push_back(std::move(entry));
  }
  return {{"ok", report.ok()}, {"outputs", outputs}};
}

Elements elements_of(const verify::CheckReport& report) {
  Elements elements;
  for (const verify::OutputReport& output : report.outputs) {
    elements.count += output.elements;
    elements.max_error = std::max(elements.max_error, output.max_error);
  }
  return elements;
}

std::string fault_lines(const std::string& what, const verify::CheckReport& report) {
  std::string lines;
  for (const verify::OutputReport& output : report.outputs)
    if (output.wrong != 0) lines += fmt::format("{}: {}\n", what, check_line(output));
  return lines;
}

}  // namespace lanefold::cli
