// lanefold ops: the operators and hand-written modules of the library.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "kernels/hand_written.h"
#include "kernels/registry.h"
#include "verify/instance.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;

/// Parameters are f32: the shortest decimal that means the same one.
std::string default_text(const ir::Parameter& parameter) {
  return fmt::format("{}", static_cast<float>(parameter.value));
}

json signature_json(const ir::Program& program) {
  json inputs = json::array(), outputs = json::array(), parameters = json::array();
  for (const ir::Input& input : program.inputs)
    inputs.push_back(
        {{"name", input.name}, {"kind", ir::kind_name(input.kind)}, {"required", !input.absent.has_value()}});
  for (const ir::Store& store : program.stores)
    outputs.push_back(
        {{"name", store.name}, {"kind", ir::kind_name(store.kind)}, {"dtype", element_name(store.storage)}});
  for (const ir::Parameter& parameter : program.parameters)
    parameters.push_back({{"name", parameter.name}, {"default", json::parse(default_text(parameter))}});
  return {{"inputs", inputs}, {"outputs", outputs}, {"parameters", parameters}};
}

std::string signature_text(const ir::Program& program) {
  std::vector<std::string> inputs, outputs;
  for (const ir::Input& input : program.inputs) inputs.push_back(input.absent ? "[" + input.name + "]" : input.name);
  for (const ir::Parameter& parameter : program.parameters)
    inputs.push_back(fmt::format("{}={}", parameter.name, default_text(parameter)));
  for (const ir::Store& store : program.stores) outputs.push_back(store.name);
  return fmt::format("{} -> {}", fmt::join(inputs, ", "), fmt::join(outputs, ", "));
}

json module_json(const kernels::HandWritten& module) {
  json forms = json::array(), sizes = json::array();
  for (const kernels::FormFact& form : module.forms)
    forms.push_back({{"name", form.name}, {"aliases", form.aliases}, {"summary", form.summary}, {"right", form.right}});
  for (const kernels::SizeFact& size : module.sizes)
    sizes.push_back({{"name", size.name},
                     {"standard", size.standard},
                     {"least", size.least},
                     {"most", size.most},
                     {"summary", size.summary}});
  return {{"name", module.name}, {"summary", module.summary},        {"formula", module.formula}, {"forms", forms},
          {"sizes", sizes},      {"has_weights", module.has_weights}};
}

std::string module_text(const kernels::HandWritten& module) {
  std::string text = fmt::format("{}\n  {}\n  {}\n  forms\n", module.name, module.summary, module.formula);
  for (const kernels::FormFact& form : module.forms) {
    std::string names = std::string(form.name);
    for (const std::string_view alias : form.aliases) names += fmt::format(", {}", alias);
    text += fmt::format("    {:<18} {}\n", names, form.summary);
  }
  text += "  sizes\n";
  for (const kernels::SizeFact& size : module.sizes)
    text += fmt::format("    {:<18} {}; {} to {}: {}\n", size.name, size.standard, size.least, size.most, size.summary);
  if (module.has_weights) text += "    weights            bf16; or q8_0\n";
  return text;
}

Result<int> list_operators(const Context& context) {
  json list = json::array();
  std::string text;
  for (const kernels::Operator& op : kernels::operators()) {
    LANEFOLD_TRY(const ir::Program program, kernels::build(op, ElementType::f32));
    json entry = signature_json(program);
    entry["name"] = op.name;
    entry["aliases"] = op.aliases;
    entry["summary"] = op.summary;
    entry["formula"] = op.formula;
    list.push_back(std::move(entry));
    text += fmt::format("{}\n  {}\n  {}\n  {}\n", op.name, op.summary, op.formula, signature_text(program));
    if (!op.aliases.empty()) text += fmt::format("  also known as {}\n", fmt::join(op.aliases, ", "));
  }
  std::vector<std::string_view> storages;
  for (const ElementType type : kernels::storages()) storages.push_back(element_name(type));
  json modules = json::array();
  std::string module_list;
  for (const kernels::HandWritten& module : kernels::hand_written()) {
    modules.push_back(module_json(module));
    module_list += '\n' + module_text(module);
  }
  const std::vector<std::string>& forms = verify::operator_forms();
  if (context.json) {
    print_json({{"operators", list}, {"storages", storages}, {"operator_forms", forms}, {"modules", modules}});
  } else {
    print(fmt::format(
        "{}\nStored as {}. Inputs in brackets may be left out.\nForms, as in {}:{}: {}; the first is the one "
        "without a name.\n\nHand-written modules\n{}",
        text, fmt::join(storages, ", "), kernels::operators().front().name, forms.back(), fmt::join(forms, ", "),
        module_list));
  }
  return kSuccess;
}

}  // namespace

Action declare_ops(Options&) { return list_operators; }

}  // namespace lanefold::cli
