#include "lane/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "lane/verify_statement.h"

namespace lanefold::lane {
namespace {

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

class Names {
 public:
  Names(std::vector<Diagnostic>& faults, std::string place) : faults_(faults), place_(std::move(place)) {}

  void add(std::string_view what, const std::string& name) {
    if (!is_identifier(name)) {
      faults_.push_back({Code::lane_bad_name, fmt::format("the {} name \"{}\" is not an identifier", what, name),
                         "use letters, digits and _, and begin with a letter", place_});
    } else if (!taken_.insert(name).second) {
      faults_.push_back({Code::lane_bad_name, fmt::format("the name {} is taken twice", name),
                         fmt::format("rename this {}", what), place_});
    }
  }

 private:
  std::vector<Diagnostic>& faults_;
  std::string place_;
  std::set<std::string> taken_;
};

void check_limits(const Kernel& k, std::vector<Diagnostic>& faults) {
  const auto fault = [&](std::string message, std::string hint) {
    faults.push_back({Code::lane_kernel_limits, std::move(message), std::move(hint), k.name});
  };
  if (!std::has_single_bit(k.simd_width) || k.simd_width < 4 || k.simd_width > 64) {
    fault(fmt::format("simd_width is {}", k.simd_width), "use a power of two from 4 to 64");
  }
  if (k.simd_groups < 1 || k.simd_groups > 32) {
    fault(fmt::format("simd_groups is {}", k.simd_groups), "use 1 to 32 SIMD groups");
  } else if (k.simd_width <= 64 && k.simd_width * k.simd_groups > kMaxThreads) {
    fault(fmt::format("{} SIMD groups of {} lanes are {} threads", k.simd_groups, k.simd_width,
                      k.simd_width * k.simd_groups),
          fmt::format("a threadgroup has at most {} threads", kMaxThreads));
  }
  if (k.cluster < 1 || k.cluster > 16 || (k.threadgroups != 0 && k.threadgroups % std::max(1u, k.cluster) != 0))
    fault(fmt::format("clusters of {} threadgroups", k.cluster), "use 1 to 16 that divide the launch");
  if (k.threadgroups != 0 && k.cols_per_threadgroup != 0)
    fault("threadgroups and cols_per_threadgroup are both given", "give one of them");
  if (k.threadgroups_per_row < 1 || k.threadgroups_per_row > 16 ||
      (k.threadgroups_per_row > 1 && (k.threadgroups != 0 || k.rows_per_threadgroup != 1)))
    fault(fmt::format("{} threadgroups per row", k.threadgroups_per_row),
          "use 1 to 16 of one row each, without a number of threadgroups");
  if (k.rows_per_threadgroup < 1) fault("rows_per_threadgroup is 0", "a threadgroup owns at least one row");
  std::uint64_t bytes = 0;
  for (const SharedArray& array : k.shared)
    bytes += (std::uint64_t{array.size} * element_bytes(array.type) + 63) / 64 * 64;
  if (bytes > kMaxSharedBytes) {
    fault(fmt::format("the threadgroup arrays take {} bytes", bytes),
          fmt::format("keep them within {} bytes", kMaxSharedBytes));
  }
  std::uint64_t registers = 0;
  for (const RegisterArray& array : k.registers) registers += array.size;
  if (registers > kMaxRegisters) {
    fault(fmt::format("the register arrays have {} elements", registers),
          fmt::format("keep them within {} elements", kMaxRegisters));
  }
}

/// What is wrong with an argument's shape or memory; empty for nothing.
std::string argument_fault(const Kernel& k, std::size_t index) {
  const Argument& argument = k.arguments[index];
  if (!argument.buffer)
    return argument.shape.empty() && !argument.memory_of ? "" : "is a scalar, which has no shape and no memory";
  for (const Dimension& d : argument.shape) {
    const std::int64_t least = d.of == Dimension::Of::fixed ? 0 : 1;
    if (d.amount < least || d.amount > kMaxExtent)
      return fmt::format("has an axis of {}{}", d.of == Dimension::Of::fixed ? "" : "a size divided by ", d.amount);
  }
  if (argument.shape.size() > kMaxAxes)
    return fmt::format("has {} axes, more than {}", argument.shape.size(), kMaxAxes);
  if (!argument.memory_of) return "";
  if (*argument.memory_of >= index) return "is the memory of an argument that does not come before it";
  const Argument& owner = k.arguments[*argument.memory_of];
  return owner.buffer && !owner.memory_of ? "" : "is the memory of an argument that has none of its own";
}

/// What is wrong with an argument's role; empty for nothing.
std::string role_fault(const Argument& argument) {
  if (argument.index > kMaxRoleIndex) return fmt::format("is number {} of its role", argument.index);
  switch (argument.role) {
    case Role::other: return "";
    case Role::input:
    case Role::output:
    case Role::inout: return argument.buffer ? "" : "is a scalar with the role of a buffer";
    case Role::parameter:
      if (!argument.buffer) return argument.type == ElementType::f32 ? "" : "is a parameter and not f32";
      break;
    default:
      if (!argument.buffer) return argument.type == ElementType::i64 ? "" : "is a size or stride and not i64";
      break;
  }
  return "is a buffer with the role of a scalar";
}

void check_declarations(const Kernel& k, std::vector<Diagnostic>& faults) {
  Names names(faults, k.name);
  const auto type_fault = [&](const std::string& name, ElementType type, std::string hint) {
    faults.push_back({Code::lane_type_mismatch, fmt::format("{} cannot have type {}", name, element_name(type)),
                      std::move(hint), k.name});
  };
  for (std::size_t i = 0; i < k.arguments.size(); ++i) {
    const Argument& argument = k.arguments[i];
    names.add("argument", argument.name);
    if (const auto bad = argument_fault(k, i); !bad.empty())
      faults.push_back({Code::lane_bad_attribute, fmt::format("argument {} {}", argument.name, bad),
                        "look at its shape and at the argument whose memory it is", k.name});
    if (argument.buffer && !is_storage_type(argument.type)) {
      type_fault(argument.name, argument.type, "kernels do not handle f64 buffers");
    } else if (!argument.buffer && argument.type != ElementType::f32 && argument.type != ElementType::i64) {
      type_fault(argument.name, argument.type, "a scalar argument is i64 or f32");
    } else if (const auto bad = role_fault(argument); !bad.empty()) {
      faults.push_back({Code::lane_bad_attribute, fmt::format("argument {} {}", argument.name, bad),
                        "buffers are input, output, inout or other; a parameter is f32; rows, cols and strides are i64",
                        k.name});
    }
  }
  for (const SharedArray& array : k.shared) {
    names.add("threadgroup array", array.name);
    if (!is_storage_type(array.type)) type_fault(array.name, array.type, "kernels do not handle f64 arrays");
  }
  for (const RegisterArray& array : k.registers) {
    names.add("register array", array.name);
    if (!is_register_type(array.type)) type_fault(array.name, array.type, "use bool, i32, i64 or f32");
  }
}

void check_value_types(const std::string& owner, const std::vector<ElementType>& types,
                       std::vector<Diagnostic>& faults) {
  const auto bad = std::find_if_not(types.begin(), types.end(), is_register_type);
  if (bad == types.end()) return;
  faults.push_back({Code::lane_type_mismatch,
                    fmt::format("%{} cannot have type {}", bad - types.begin(), element_name(*bad)),
                    "values are bool, i32, i64 or f32", owner});
}

bool too_many_values(const std::string& owner, std::size_t values, std::vector<Diagnostic>& faults) {
  if (values <= kMaxValues) return false;
  faults.push_back({Code::lane_too_large, fmt::format("{} values", values),
                    fmt::format("a body has at most {}", kMaxValues), owner});
  return true;
}

void check_function(const Module& module, std::size_t index, std::vector<Diagnostic>& faults) {
  const Function& f = module.functions[index];
  if (too_many_values(f.name, f.types.size(), faults)) return;
  check_value_types(f.name, f.types, faults);
  if (f.parameters.size() > f.types.size() || !std::equal(f.parameters.begin(), f.parameters.end(), f.types.begin())) {
    faults.push_back({Code::lane_type_mismatch, "the parameters do not have the types of the first values",
                      "values 0 and up are the parameters", f.name});
    return;
  }
  StatementChecker checker(module, f.name, f.types, faults);
  checker.check_function(f, index);
}

void check_functions(const Module& module, std::vector<Diagnostic>& faults) {
  Names names(faults, module.name);
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    names.add("function", module.functions[i].name);
    check_function(module, i, faults);
  }
}

void check_kernel(const Module& module, const Kernel& kernel, std::vector<Diagnostic>& faults) {
  check_limits(kernel, faults);
  check_declarations(kernel, faults);
  if (too_many_values(kernel.name, kernel.types.size(), faults)) return;
  check_value_types(kernel.name, kernel.types, faults);
  StatementChecker checker(module, kernel.name, kernel.types, faults);
  checker.check_kernel(kernel);
}

}  // namespace

bool is_storage_type(ElementType type) { return type != ElementType::f64; }

std::vector<Diagnostic> verify_structure(const Module& module) {
  std::vector<Diagnostic> faults;
  Names(faults, module.name).add("module", module.name);
  check_functions(module, faults);
  Names kernels(faults, module.name);
  for (const Kernel& kernel : module.kernels) {
    kernels.add("kernel", kernel.name);
    check_kernel(module, kernel, faults);
  }
  return faults;
}

std::vector<Diagnostic> verify_structure(const Module& module, const Kernel& kernel) {
  std::vector<Diagnostic> faults;
  check_functions(module, faults);
  check_kernel(module, kernel, faults);
  return faults;
}

std::vector<Diagnostic> verify(const Module& module) {
  std::vector<Diagnostic> faults = verify_structure(module);
  return faults.empty() ? verify_control(module) : faults;
}

}  // namespace lanefold::lane
