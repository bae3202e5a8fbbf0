#include "driver/kernel_name.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "kernels/registry.h"
#include "lane/verify.h"
#include "tensor/mapped_file.h"

namespace lanefold::driver {
namespace {

constexpr std::string_view kGrammar =
    "a kernel is OP[:FORM][@PLAN.json], FILE.fold[@PLAN.json], FILE.lane, FILE.metal#NAME or FILE.cu#NAME";

Diagnostic malformed(std::string_view text, std::string message) {
  return {Code::kernel_name_malformed, std::move(message), std::string(kGrammar), std::string(text)};
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

/// A name that is a file of GPU source: the file and the kernel in it.
Result<KernelName> source_kernel(KernelName kernel, std::string_view text, std::size_t end_of_file) {
  kernel.file = text.substr(0, end_of_file);
  if (end_of_file + 1 >= text.size())
    return malformed(text, fmt::format("\"{}\" does not say which kernel of the file is meant", text));
  kernel.name = text.substr(end_of_file + 1);
  return kernel;
}

/// The text of a file, which the mapping keeps alive.
struct FileText {
  tensor::MappedFile file;
  std::string_view text() const { return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}; }
};

Result<FileText> read_text(const std::string& path) {
  LANEFOLD_TRY(tensor::MappedFile file, tensor::map_file(path));
  return FileText{std::move(file)};
}

Result<ResolvedProgram> resolve_operator(const KernelName& name, const kernels::Build& request) {
  LANEFOLD_TRY(const kernels::Operator* op, kernels::find_or_explain(name.name));
  if (!name.form.empty())
    return Diagnostic{Code::unknown_form, fmt::format("{} has no form \"{}\"", op->name, name.form),
                      fmt::format("leave \":{}\" out where a row program is needed", name.form), name.text};
  ResolvedProgram resolved;
  LANEFOLD_TRY(resolved.declared, kernels::declare(*op, request));
  LANEFOLD_TRY(resolved.program, ir::specialise(resolved.declared, request.known));
  resolved.absolute_tolerance = op->absolute_tolerance;
  resolved.relative_tolerance = op->relative_tolerance;
  resolved.code_tolerance = op->code_tolerance;
  // What follows the storage type is what differs between two of them.
  kernels::Build other = request;
  other.storage = kernels::storages()[request.storage == kernels::storages()[0] ? 1 : 0];
  LANEFOLD_TRY(const ir::Program elsewhere, kernels::build(*op, other));
  for (std::size_t i = 0; i < elsewhere.inputs.size(); ++i)
    if (elsewhere.inputs[i].storage != resolved.program.inputs[i].storage)
      resolved.storage_inputs.push_back(elsewhere.inputs[i].name);
  return resolved;
}

Result<ResolvedProgram> resolve_file(const KernelName& name, const ir::Known& known) {
  LANEFOLD_TRY(const FileText file, read_text(name.file));
  ResolvedProgram resolved;
  LANEFOLD_TRY(resolved.declared, ir::parse(file.text(), name.file));
  LANEFOLD_TRY(resolved.program, ir::specialise(resolved.declared, known));
  return resolved;
}

Diagnostic in_file(Diagnostic fault, const KernelName& name) {
  fault.place = fault.place.empty() ? name.file : fmt::format("{}: {}", name.file, fault.place);
  return fault;
}

Diagnostic unsupported(const KernelName& name, std::string_view what) {
  return {Code::kernel_kind_unsupported, fmt::format("\"{}\" names {}, which this version cannot use", name.text, what),
          "name an operator (see `lanefold ops`) or a FILE.fold", name.text};
}

}  // namespace

Result<KernelName> parse_kernel_name(std::string_view text) {
  KernelName kernel;
  kernel.text = text;
  if (text.empty()) return malformed(text, "the name of a kernel is empty");
  if (text == "canonical") {
    kernel.kind = KernelName::Kind::canonical;
    return kernel;
  }
  for (const auto& [ending, kind] :
       {std::pair<std::string_view, KernelName::Kind>{".metal", KernelName::Kind::metal_file},
        std::pair<std::string_view, KernelName::Kind>{".cu", KernelName::Kind::cuda_file}}) {
    kernel.kind = kind;
    const std::size_t mark = text.find(std::string(ending) + '#');
    if (mark != text.npos) return source_kernel(kernel, text, mark + ending.size());
    if (text.ends_with(ending)) return source_kernel(kernel, text, text.size());
  }
  // A folder's name may hold '@': the plan of a file begins behind the file's ending.
  std::string_view base = text;
  std::size_t at = text.ends_with(".fold") || text.ends_with(".lane") ? text.npos : text.find('@');
  for (const std::string_view ending : {".fold@", ".lane@"})
    if (const std::size_t mark = text.find(ending); mark != text.npos) at = mark + ending.size() - 1;
  if (at != text.npos) {
    base = text.substr(0, at);
    kernel.plan_path = text.substr(at + 1);
    if (kernel.plan_path.size() <= std::string_view(".json").size() || !kernel.plan_path.ends_with(".json"))
      return malformed(
          text, fmt::format("\"{}\" is not a plan: a plan is a file whose name ends with .json", kernel.plan_path));
  }
  if (base.ends_with(".fold") || base.ends_with(".lane")) {
    kernel.kind = base.ends_with(".fold") ? KernelName::Kind::fold_file : KernelName::Kind::lane_file;
    kernel.file = base;
    if (kernel.kind == KernelName::Kind::lane_file && !kernel.plan_path.empty())
      return malformed(
          text, fmt::format("{} is a lane module, which has its plan built in: it takes no @PLAN.json", kernel.file));
    return kernel;
  }
  kernel.kind = KernelName::Kind::op;
  const std::size_t colon = base.find(':');
  kernel.name = base.substr(0, colon);
  if (colon != base.npos) {
    kernel.form = base.substr(colon + 1);
    if (!is_word(kernel.form)) return malformed(text, fmt::format("\"{}\" is not the name of a form", kernel.form));
  }
  if (!is_word(kernel.name))
    return malformed(
        text, fmt::format("\"{}\" is neither the name of an operator nor a file whose ending is known", kernel.name));
  return kernel;
}

Result<ResolvedProgram> resolve_program(const KernelName& name, const kernels::Build& request) {
  Result<ResolvedProgram> resolved = ResolvedProgram{};
  switch (name.kind) {
    case KernelName::Kind::op: resolved = resolve_operator(name, request); break;
    case KernelName::Kind::fold_file: resolved = resolve_file(name, request.known); break;
    case KernelName::Kind::lane_file:
      return Diagnostic{Code::kernel_not_for_verb,
                        fmt::format("{} is a lane module, and a row program is needed here", name.file),
                        "run, check, count, prove, digest and emit take lane modules", name.text};
    case KernelName::Kind::metal_file: return unsupported(name, "a Metal kernel");
    case KernelName::Kind::cuda_file: return unsupported(name, "a CUDA kernel");
    case KernelName::Kind::canonical: return unsupported(name, "the canonical order itself");
  }
  if (!resolved || name.plan_path.empty()) return resolved;
  LANEFOLD_TRY(const FileText file, read_text(name.plan_path));
  LANEFOLD_TRY(resolved->plan, plan::from_json(file.text(), name.plan_path));
  return resolved;
}

Result<lane::Module> read_lane_module(const KernelName& name) {
  LANEFOLD_TRY(lane::Module module, read_lane_structure(name));
  if (const std::vector<Diagnostic> faults = lane::verify_control(module); !faults.empty())
    return in_file(faults.front(), name);
  return module;
}

Result<lane::Module> read_lane_structure(const KernelName& name) {
  if (name.kind != KernelName::Kind::lane_file)
    internal_error("read_lane_structure: " + name.text + " is no lane module");
  LANEFOLD_TRY(const FileText file, read_text(name.file));
  LANEFOLD_TRY(lane::Module module, lane::parse(file.text(), name.file));
  if (const std::vector<Diagnostic> faults = lane::verify_structure(module); !faults.empty())
    return in_file(faults.front(), name);
  return module;
}

}  // namespace lanefold::driver
