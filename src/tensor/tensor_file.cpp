#include "tensor/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tensor/npy.h"
#include "tensor/safetensors.h"

namespace lanefold::tensor {
namespace {

struct Spec {
  std::string path;
  std::string name;  ///< of the tensor in a safetensors file; empty for .npy
};

Result<Spec> parse_spec(const std::string& spec) {
  constexpr std::string_view kSuffix = ".safetensors";
  // A file's name may hold '#' and a tensor's name ".safetensors#": the first such end of a file's name counts.
  const std::size_t mark = spec.find(std::string(kSuffix) + '#');
  if (mark != std::string::npos && mark + kSuffix.size() + 1 < spec.size()) {
    return Spec{spec.substr(0, mark + kSuffix.size()), spec.substr(mark + kSuffix.size() + 1)};
  }
  if (mark == std::string::npos && spec.ends_with(".npy")) return Spec{spec, ""};
  const bool unnamed = mark != std::string::npos || spec.ends_with(kSuffix);
  return Diagnostic{Code::file_kind_unknown,
                    unnamed ? fmt::format("\"{}\" does not say which tensor of the file is meant", spec)
                            : fmt::format("\"{}\" is neither file.npy nor file.safetensors#name", spec),
                    unnamed ? "add its name: file.safetensors#name" : "the file's ending says its format", spec};
}

/// One file to be written, with the outputs that go into it.
struct FilePlan {
  std::string path;
  std::string target;
  bool npy = false;
  std::vector<std::string> names;
  std::vector<std::size_t> outputs;  ///< indices
};

Result<std::vector<FilePlan>> group_by_file(std::span<const std::string> specs) {
  std::vector<FilePlan> plans;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    LANEFOLD_TRY(const Spec spec, parse_spec(specs[i]));
    const std::string target = resolved_path(spec.path);
    auto plan = std::find_if(plans.begin(), plans.end(), [&](const FilePlan& p) { return p.target == target; });
    if (plan == plans.end()) {
      plans.push_back({spec.path, target, spec.name.empty(), {}, {}});
      plan = plans.end() - 1;
    } else if (plan->npy || std::count(plan->names.begin(), plan->names.end(), spec.name) != 0) {
      return Diagnostic{Code::output_repeated, fmt::format("two outputs go to \"{}\"", specs[i]),
                        "give each output a file or a tensor name of its own", specs[i]};
    }
    plan->names.push_back(spec.name);
    plan->outputs.push_back(i);
  }
  return plans;
}

}  // namespace

Result<Tensor> read_tensor(const std::string& spec, std::optional<ElementType> dtype) {
  LANEFOLD_TRY(const Spec parsed, parse_spec(spec));
  if (parsed.name.empty()) return read_npy(parsed.path, dtype);
  return read_safetensors(parsed.path, parsed.name, dtype);
}

Status check_output_specs(std::span<const std::string> specs) {
  const Result<std::vector<FilePlan>> plans = group_by_file(specs);
  if (!plans) return plans.error();
  return success();
}

Status write_tensors(std::span<const Output> outputs) {
  std::vector<std::string> specs;
  for (const Output& output : outputs) specs.push_back(output.spec);
  LANEFOLD_TRY(const std::vector<FilePlan> plans, group_by_file(specs));
  StagedFiles files;
  for (const FilePlan& plan : plans) {
    if (plan.npy) {
      LANEFOLD_CHECK(stage_npy(files, plan.path, outputs[plan.outputs.front()].tensor));
      continue;
    }
    std::vector<NamedTensor> tensors;
    for (std::size_t i = 0; i < plan.names.size(); ++i) {
      tensors.push_back({plan.names[i], outputs[plan.outputs[i]].tensor});
    }
    LANEFOLD_CHECK(stage_safetensors(files, plan.path, tensors));
  }
  return files.commit();
}

}  // namespace lanefold::tensor
