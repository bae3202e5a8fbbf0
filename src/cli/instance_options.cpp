#include "cli/instance_options.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/parameters.h"
#include "cli/report.h"
#include "cli/values.h"
#include "kernels/registry.h"

namespace lanefold::cli {
namespace {

constexpr std::uint32_t kMostSimdWidth = 64;

bool is_planned(Sort sort) { return sort == Sort::program; }
bool has_shape(Sort sort) { return sort != Sort::hand_written; }

const kernels::Operator* operator_of(const driver::KernelName& name) {
  return name.kind == driver::KernelName::Kind::op ? kernels::find(name.name) : nullptr;
}

/// One option as it was given, and whether it means something to a kernel.
struct Meaning {
  const char* option;
  bool given;
  std::function<bool(const driver::KernelName&, Sort)> takes;
  const char* what;  ///< for whom it is
};

std::vector<Meaning> meanings(const InstanceFlags& flags, bool on_cpu) {
  using Name = driver::KernelName;
  const auto shape = [](const Name&, Sort sort) { return has_shape(sort); };
  const auto planned = [](const Name& name, Sort sort) { return is_planned(sort) && name.form != "serial"; };
  const auto sized = [](const Name&, Sort sort) { return sort == Sort::hand_written; };
  const auto fixed = [](const Name&, Sort sort) { return sort == Sort::program || sort == Sort::per_lane; };
  const auto counted = [](const Name& name, Sort sort) {
    const kernels::Operator* op = operator_of(name);
    return sort == Sort::hand_written || (op && kernels::takes_tokens(*op));
  };
  const auto stored = [](const Name& name, Sort sort) {
    return name.kind == Name::Kind::op && sort != Sort::hand_written;
  };
  const auto aimed = [on_cpu](const Name&, Sort sort) {
    return on_cpu || sort == Sort::program || sort == Sort::per_lane;
  };
  const auto weighted = [](const Name& name, Sort sort) {
    if (sort == Sort::hand_written) return kernels::find_hand_written(name.name)->has_weights;
    const kernels::Operator* op = operator_of(name);
    return op && kernels::takes_weights(*op);
  };
  return {
      {"--rows", !flags.rows.empty(), shape, "is for row programs and FILE.lane"},
      {"--cols", !flags.cols.empty(), shape, "is for row programs and FILE.lane"},
      {"--dtype", !flags.dtype.empty(), stored, "is for operators; other kernels have their types built in"},
      {"--target", !flags.target.empty(), aimed, "is for row programs; lane modules have their SIMD width built in"},
      {"--order", !flags.order.empty(), planned, "is for row programs that are planned"},
      {"--cost", !flags.cost_basis.empty(), planned, "is for row programs that are planned"},
      {"--tokens", !flags.sizes.tokens.empty(), counted, "is for kernels that take several tokens at once"},
      {"--simd-width", !flags.sizes.simd_width.empty(), sized,
       "is for hand-written modules; the target decides the width of others"},
      {"--size", !flags.sizes.sizes.empty(), sized, "is for hand-written modules"},
      {"--option", !flags.sizes.options.empty(), fixed, "is for row programs"},
      {"--weights", !flags.sizes.weights.empty(), weighted,
       "is for kernels that have weights in a format of their own"}};
}

Result<kernels::ModuleSizes> module_sizes(const SizeFlags& flags, bool has_weights) {
  kernels::ModuleSizes sizes;
  LANEFOLD_TRY(const Assignments given, parse_assignments("--size", flags.sizes));
  for (const auto& [name, text] : given) {
    LANEFOLD_TRY(sizes.values[name], parse_count(fmt::format("--size {}={}", name, text), text, 0, kMostSize));
  }
  if (!flags.tokens.empty()) {
    if (sizes.values.contains("tokens"))
      return Diagnostic{Code::assignment_repeated, "the size tokens is given twice",
                        "give --tokens or --size tokens=T, not both", "--tokens"};
    LANEFOLD_TRY(sizes.values["tokens"], parse_count("--tokens", flags.tokens, 0, kMostSize));
  }
  if (!flags.simd_width.empty()) {
    LANEFOLD_TRY(const std::int64_t width, parse_count("--simd-width", flags.simd_width, 1, kMostSimdWidth));
    sizes.simd_width = static_cast<std::uint32_t>(width);
  }
  if (has_weights && !flags.weights.empty()) {
    if (flags.weights != "bf16" && flags.weights != "q8_0")
      return Diagnostic{Code::unknown_dtype, fmt::format("weights are not stored as \"{}\"", flags.weights),
                        "the formats are: bf16, q8_0", "--weights"};
    sizes.weights = flags.weights == "q8_0" ? kernels::WeightFormat::q8_0 : kernels::WeightFormat::bf16;
  }
  return sizes;
}

bool depends_on_cols(const lane::Module& module) {
  using lane::Dimension;
  return std::any_of(module.kernels.begin(), module.kernels.end(), [](const lane::Kernel& kernel) {
    return kernel.cols_per_threadgroup != 0 ||
           std::any_of(kernel.arguments.begin(), kernel.arguments.end(), [](const lane::Argument& argument) {
             return argument.role == lane::Role::cols ||
                    std::any_of(argument.shape.begin(), argument.shape.end(),
                                [](const Dimension& axis) { return axis.of == Dimension::Of::cols; });
           });
  });
}

Result<std::int64_t> size_of(const char* option, const std::string& text, std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  return parse_count(option, text, 0, kMostSize);
}

Diagnostic no_cols(const driver::KernelName& name) {
  return {Code::shape_unknown, fmt::format("{} is made for a number of columns, which is not given", name.text),
          "give --cols C", "--cols"};
}

}  // namespace

void declare_sizes(Options& options, SizeFlags& flags) {
  options.text("--tokens", flags.tokens, "T", "kernels that take several: tokens of one step");
  options.text(
      "--weights", flags.weights, "FORMAT",
      "kernels that have weights: bf16 or q8_0; of operators also f32, f16, e4m3 and e5m2 (default: as --dtype)");
  options.list("--option", flags.options, "NAME=NUMBER",
               "row programs: an option, such as soft_cap=30, or a parameter that is to be fixed");
  options.text("--simd-width", flags.simd_width, "W", "hand-written modules: lanes of a SIMD group (default 32)");
  options.list("--size", flags.sizes, "NAME=NUMBER", "hand-written modules: a size (see `lanefold ops`)");
}

void declare_instance(Options& options, InstanceFlags& flags) {
  options.text("--rows", flags.rows, "R", "rows (default: 1, or those of the plan)");
  options.text("--cols", flags.cols, "C", "columns");
  options.text("--dtype", flags.dtype, "TYPE", "storage type of operators: f32 (default), f16, bf16, e4m3, e5m2 or i8");
  options.text("--target", flags.target, "NAME", "any target to plan and lower for (default: generic-32)");
  options.text("--order", flags.order, "ORDER", "canonical (default), serial or free");
  options.text("--cost", flags.cost_basis, "BASIS", "cost basis, such as metal_subgroup_reduction_v1");
  declare_sizes(options, flags.sizes);
}

Sort sort_of(const driver::KernelName& name) {
  if (!verify::names_lane_module(name)) return Sort::program;
  if (name.kind == driver::KernelName::Kind::lane_file) return Sort::lane_file;
  return kernels::find_hand_written(name.name) ? Sort::hand_written : Sort::per_lane;
}

Status check_meaning(std::span<const driver::KernelName> kernels, const InstanceFlags& flags, bool on_cpu) {
  std::vector<std::string> names;
  for (const driver::KernelName& name : kernels) {
    names.push_back(name.text);
    if (sort_of(name) != Sort::program && !name.plan_path.empty())
      return Diagnostic{Code::option_not_for_kernel,
                        fmt::format("{} is a lane module, which has its plan built in", name.text),
                        "name it without @PLAN.json", name.text};
    if (name.kind == driver::KernelName::Kind::op && sort_of(name) != Sort::hand_written)
      LANEFOLD_CHECK(kernels::find_or_explain(name.name));
  }
  for (const Meaning& meaning : meanings(flags, on_cpu)) {
    if (!meaning.given || std::any_of(kernels.begin(), kernels.end(), [&](const driver::KernelName& name) {
          return meaning.takes(name, sort_of(name));
        }))
      continue;
    return Diagnostic{
        Code::option_not_for_kernel,
        fmt::format("{0} has no meaning for {1}: it {2}", meaning.option, fmt::join(names, " and "), meaning.what),
        fmt::format("leave {} out", meaning.option), meaning.option};
  }
  return success();
}

Status check_meaning(const driver::KernelName& kernel, const SizeFlags& sizes) {
  InstanceFlags flags;
  flags.sizes = sizes;
  return check_meaning(std::span(&kernel, 1), flags);
}

Result<kernels::Build> build_request(const driver::KernelName& name, const std::string& dtype, const SizeFlags& sizes) {
  kernels::Build request;
  if (const kernels::Operator* op = operator_of(name)) {
    if (!dtype.empty()) {
      LANEFOLD_TRY(request.storage, parse_storage(dtype));
    }
    if (kernels::takes_weights(*op)) request.weights = sizes.weights;
    if (kernels::takes_tokens(*op) && !sizes.tokens.empty()) {
      LANEFOLD_TRY(const std::int64_t tokens, parse_count("--tokens", sizes.tokens, 1, kernels::kMostTokens));
      request.tokens = static_cast<std::uint32_t>(tokens);
    }
  }
  if (sizes.options.empty() && sizes.set.empty()) return request;
  LANEFOLD_TRY(const driver::ResolvedProgram resolved, driver::resolve_program(name, request));
  LANEFOLD_TRY(const std::vector<GivenNumber> numbers, given_numbers(resolved.declared, sizes));
  for (const GivenNumber& number : numbers)
    if (number.when_built) request.known.options.emplace_back(number.name, static_cast<double>(number.value));
  return request;
}

Result<driver::ResolvedProgram> resolve_kernel(const driver::KernelName& name, const std::string& dtype,
                                               const SizeFlags& sizes) {
  if (!dtype.empty() && name.kind == driver::KernelName::Kind::fold_file)
    return Diagnostic{Code::option_not_for_kernel,
                      fmt::format("--dtype is for operators; the types of {} stand in its text", name.file),
                      "leave --dtype out, or change the text", "--dtype"};
  LANEFOLD_TRY(const kernels::Build request, build_request(name, dtype, sizes));
  return driver::resolve_program(name, request);
}

std::vector<std::string> given_options(const InstanceFlags& flags) {
  std::vector<std::string> options;
  for (const Meaning& meaning : meanings(flags, false))
    if (meaning.given) options.emplace_back(meaning.option);
  return options;
}

Result<verify::InstanceRequest> instance_request(const driver::KernelName& name, const InstanceFlags& flags,
                                                 const target::Target& standard) {
  verify::InstanceRequest request;
  request.options.device = "lane-machine";
  request.options.target = standard;
  const Sort sort = sort_of(name);
  if (sort == Sort::hand_written) {
    LANEFOLD_TRY(request.sizes, module_sizes(flags.sizes, kernels::find_hand_written(name.name)->has_weights));
    return request;
  }
  if (sort == Sort::lane_file) {
    LANEFOLD_TRY(const lane::Module module, driver::read_lane_structure(name));
    if (flags.cols.empty() && depends_on_cols(module)) return no_cols(name);
    LANEFOLD_TRY(request.rows, size_of("--rows", flags.rows, 1));
    LANEFOLD_TRY(request.cols, size_of("--cols", flags.cols, 1));
    return request;
  }
  driver::KernelName plain = name;
  plain.form.clear();
  LANEFOLD_TRY(request.build, build_request(plain, flags.dtype, flags.sizes));
  LANEFOLD_TRY(const driver::ResolvedProgram resolved, driver::resolve_program(plain, request.build));
  const bool takes_order = sort == Sort::program && name.form != "serial";
  LANEFOLD_TRY(
      request.options,
      device_options(
          {.device = "lane-machine", .target = flags.target, .order = takes_order ? flags.order : "", .threads = ""},
          resolved.plan));
  if (flags.target.empty() && !resolved.plan) request.options.target = standard;
  if (takes_order) request.options.cost_basis = flags.cost_basis;
  if (flags.cols.empty() && !resolved.plan) return no_cols(name);
  LANEFOLD_TRY(request.rows, size_of("--rows", flags.rows, resolved.plan ? resolved.plan->rows : 1));
  LANEFOLD_TRY(request.cols, size_of("--cols", flags.cols, resolved.plan ? resolved.plan->cols : 1));
  LANEFOLD_CHECK(check_sizes(resolved.program, request.rows, request.cols));
  return request;
}

Result<verify::Instance> make_kernel(const driver::KernelName& name, const verify::InstanceRequest& request) {
  LANEFOLD_TRY(verify::Instance instance, verify::make_instance(name, request));
  double bytes = 0;
  for (const verify::ModuleBuffer& buffer : instance.buffers) {
    double elements = 1;
    for (const std::int64_t axis : buffer.shape) elements *= static_cast<double>(axis);
    bytes += elements * static_cast<double>(element_bytes(buffer.type));
  }
  LANEFOLD_CHECK(check_bytes(bytes, made_for(instance), name.text));
  return instance;
}

const target::Target& standard_target() {
  static const target::Target target = target::find("generic-32").value();
  return target;
}

}  // namespace lanefold::cli
