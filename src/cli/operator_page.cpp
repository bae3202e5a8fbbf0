#include "cli/operator_page.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/print.h"
#include "plan/analysis.h"

namespace lanefold::cli {
namespace {

std::string type_text(ElementType type, ElementType other) {
  return type == other ? std::string(element_name(type)) : "T";
}

/// Lines of code: Markdown leaves alone what stands four columns in.
std::string code(std::string_view text) {
  std::string block;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) block += fmt::format("    {}\n", line);
  return block;
}

std::string section(std::string_view title, std::string_view text) {
  return text.empty() ? "" : fmt::format("\n## {}\n\n{}\n", title, text);
}

std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string inputs_text(const ir::Program& program, const ir::Program& other) {
  std::string table =
      row({"input", "shape", "element type", "where it is left out"}) + row({"---", "---", "---", "---"});
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ir::Input& input = program.inputs[i];
    table += row({input.name, ir::print_shape(input.kind), input_type(program, other, i),
                  input.absent ? ir::print_number(*input.absent, ElementType::f32) : "it must be given"});
  }
  return table;
}

std::string parameters_text(const ir::Program& program) {
  if (program.parameters.empty()) return "";
  std::string table = row({"parameter", "default", "given"}) + row({"---", "---", "---"});
  for (const ir::Parameter& parameter : program.parameters)
    table += row({parameter.name, default_text(parameter),
                  parameter.option ? "when a kernel is compiled (an option)" : "with each call"});
  return table;
}

std::string outputs_text(const ir::Program& program, const ir::Program& other) {
  std::string table = row({"output", "shape", "element type"}) + row({"---", "---", "---"});
  for (std::size_t o = 0; o < program.stores.size(); ++o)
    table += row({program.stores[o].name, ir::print_shape(program.stores[o].kind), output_type(program, other, o)});
  return table;
}

std::string types_text(const kernels::Operator& op, const ir::Program& program) {
  std::vector<std::string_view> names;
  for (const ElementType type : kernels::storages(op)) names.push_back(element_name(type));
  std::string text = fmt::format("T is one of {}. Arithmetic is f32; a store rounds once.", fmt::join(names, ", "));
  if (kernels::takes_weights(op))
    text += fmt::format(" W is the format of the weights: T where nothing is asked for, or one of {}.",
                        fmt::join(kernels::weight_formats(), ", "));
  if (kernels::takes_tokens(op))
    text += fmt::format(
        " K is the number of tokens, 1 to {}: with more than one, x is x_0, x_1 and so on for the command, and has "
        "one more dimension in front for the library.",
        kernels::kMostTokens);
  if (const std::uint32_t block = plan::analyse(program).widest_block; block > 1)
    text += fmt::format(" Rows are whole blocks of {} columns, or the call is refused ({}).", block,
                        code_number(Code::columns_not_whole_blocks));
  return text;
}

std::string orders_text(const ir::Program& program) {
  const bool any_order = std::all_of(program.folds.begin(), program.folds.end(),
                                     [&](const ir::Fold& fold) { return program.monoids[fold.monoid].reorderable; });
  if (any_order) return "canonical (default), serial and free, which give the same bits: its folds may be reordered.";
  return "canonical (default): the same bits on every device, for every plan and number of rows. serial: a left fold "
         "in "
         "column order. free: whatever is fastest.";
}

std::string tolerance_text(const kernels::Operator& op, const ir::Program& program) {
  const bool floats = std::any_of(program.stores.begin(), program.stores.end(),
                                  [](const ir::Store& store) { return is_float(store.storage); });
  std::vector<std::string> texts;
  if (floats && (op.absolute_tolerance != 0 || op.relative_tolerance != 0))
    texts.push_back(fmt::format("Of the FP64 meaning r, |y − r| ≤ {} + {} · |r|, besides one rounding to its storage.",
                                op.absolute_tolerance, op.relative_tolerance));
  if (op.code_tolerance != 0)
    texts.push_back(fmt::format("An integer code differs by at most {}: a quotient near a half may round either way.",
                                op.code_tolerance));
  if (texts.empty()) texts.emplace_back("None: the result is exact.");
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace

std::string default_text(const ir::Parameter& parameter) {
  return fmt::format("{}", static_cast<float>(parameter.value));
}

std::string input_type(const ir::Program& program, const ir::Program& other, std::size_t input) {
  return type_text(program.inputs.at(input).storage, other.inputs.at(input).storage);
}

std::string output_type(const ir::Program& program, const ir::Program& other, std::size_t output) {
  return type_text(program.stores.at(output).storage, other.stores.at(output).storage);
}

Result<std::string> operator_page(const kernels::Operator& op) {
  LANEFOLD_TRY(const ir::Program program, kernels::declare(op, {.storage = ElementType::f32}));
  LANEFOLD_TRY(const ir::Program other, kernels::declare(op, {.storage = ElementType::f16}));
  std::string page = fmt::format("# {}\n\n{}.\n\n{}", op.name, op.summary, code(op.formula));
  page += section("Row program", code(op.text) + "\n" + types_text(op, program));
  page +=
      section("Inputs and outputs", fmt::format("{}\n{}{}{}", inputs_text(program, other), parameters_text(program),
                                                program.parameters.empty() ? "" : "\n", outputs_text(program, other)));
  page += section("Orders", orders_text(program));
  page += section("Special values", op.special_values);
  page += section("Tolerance", tolerance_text(op, program));
  page += section("Names elsewhere", fmt::format("{}", fmt::join(op.aliases, ", ")));
  page += section("Source", op.source);
  // A table ends with a line break of its own.
  for (std::size_t at = 0; (at = page.find("\n\n\n", at)) != page.npos;) page.erase(at, 1);
  return page;
}

std::string operator_index() {
  std::string page =
      "# Operators\n\nEach operator of the library is one row program in `src/kernels/`. These pages are written by "
      "`lanefold ops "
      "--pages docs/operators`, and a test fails where they differ from the library.\n\n";
  page += row({"operator", "what it computes", "names elsewhere"}) + row({"---", "---", "---"});
  for (const kernels::Operator& op : kernels::operators())
    page += row({fmt::format("[{}]({}.md)", op.name, op.name), std::string(op.summary),
                 fmt::format("{}", fmt::join(op.aliases, ", "))});
  return page;
}

}  // namespace lanefold::cli
