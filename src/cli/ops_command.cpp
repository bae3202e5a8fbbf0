// lanefold ops: the operators and hand-written modules of the library, as a list or as pages of documentation.
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/operator_page.h"
#include "cli/report.h"
#include "kernels/hand_written.h"
#include "kernels/registry.h"
#include "tensor/staged_files.h"
#include "verify/instance.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;

struct Settings {
  std::string pages;
};

/// A type that follows the operator's storage is "T".
json signature_json(const ir::Program& program, const ir::Program& other) {
  json inputs = json::array(), outputs = json::array(), parameters = json::array();
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    inputs.push_back({{"name", program.inputs[i].name},
                      {"kind", ir::kind_name(program.inputs[i].kind)},
                      {"type", input_type(program, other, i)},
                      {"required", !program.inputs[i].absent.has_value()}});
  for (std::size_t o = 0; o < program.stores.size(); ++o)
    outputs.push_back({{"name", program.stores[o].name},
                       {"kind", ir::kind_name(program.stores[o].kind)},
                       {"type", output_type(program, other, o)},
                       {"dtype", element_name(program.stores[o].storage)}});
  for (const ir::Parameter& parameter : program.parameters)
    parameters.push_back({{"name", parameter.name}, {"default", json::parse(default_text(parameter))}});
  return {{"inputs", inputs}, {"outputs", outputs}, {"parameters", parameters}};
}

std::vector<std::string_view> storage_names(const std::vector<ElementType>& storages) {
  std::vector<std::string_view> names;
  for (const ElementType type : storages) names.push_back(element_name(type));
  return names;
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

Result<int> write_pages(const std::string& folder, const Context& context) {
  tensor::StagedFiles files;
  const auto stage = [&](const std::string& name, const std::string& page) {
    return files.stage(fmt::format("{}/{}", folder, name), {std::as_bytes(std::span(page))});
  };
  LANEFOLD_CHECK(stage("README.md", operator_index()));
  for (const kernels::Operator& op : kernels::operators()) {
    LANEFOLD_TRY(const std::string page, operator_page(op));
    LANEFOLD_CHECK(stage(fmt::format("{}.md", op.name), page));
  }
  LANEFOLD_CHECK(files.commit());
  if (context.json) {
    print_json({{"wrote", folder}, {"operators", kernels::operators().size()}});
  } else {
    print(
        fmt::format("wrote {}: README.md and a page for each of {} operators\n", folder, kernels::operators().size()));
  }
  return kSuccess;
}

Result<int> list_operators(const Context& context) {
  json list = json::array();
  std::string text;
  for (const kernels::Operator& op : kernels::operators()) {
    LANEFOLD_TRY(const ir::Program program, kernels::declare(op, {}));
    LANEFOLD_TRY(const ir::Program other, kernels::build(op, ElementType::f16));
    json entry = signature_json(program, other);
    entry["name"] = op.name;
    entry["aliases"] = op.aliases;
    entry["summary"] = op.summary;
    entry["formula"] = op.formula;
    entry["special_values"] = op.special_values;
    entry["source"] = op.source;
    entry["storages"] = storage_names(kernels::storages(op));
    list.push_back(std::move(entry));
    text += fmt::format("{}\n  {}\n  {}\n  {}\n", op.name, op.summary, op.formula, signature_text(program));
    if (op.integers) text += "  x may be i8 too\n";
    if (!op.aliases.empty()) text += fmt::format("  also known as {}\n", fmt::join(op.aliases, ", "));
  }
  const std::vector<std::string_view> storages = storage_names(kernels::storages());
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

Action declare_ops(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.text("--pages", settings->pages, "DIR", "write a page of documentation for each operator into a folder");
  return [settings](const Context& context) {
    return settings->pages.empty() ? list_operators(context) : write_pages(settings->pages, context);
  };
}

}  // namespace lanefold::cli
