// The one grammar that names a kernel everywhere: OP[:FORM][@PLAN.json], FILE.fold[@PLAN.json], FILE.lane, FILE.metal#NAME,
// FILE.cu#NAME, canonical.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/element_type.h"
#include "base/result.h"
#include "ir/program.h"
#include "kernels/registry.h"
#include "lane/module.h"
#include "plan/plan.h"

namespace lanefold::driver {

/// The parts of a kernel's name; parts that its kind does not have are empty.
struct KernelName {
  enum class Kind { op, fold_file, lane_file, metal_file, cuda_file, canonical };
  Kind kind = Kind::op;
  std::string text;       ///< as it was given
  std::string name;       ///< op: the operator; metal_file, cuda_file: the kernel in the file
  std::string form;       ///< op
  std::string plan_path;  ///< op, fold_file
  std::string file;       ///< the file kinds
};

/// Takes a name apart: kernel_name_malformed where it follows no form of the grammar. Looks at no file and no registry.
Result<KernelName> parse_kernel_name(std::string_view text);

/// A named row program, with what belongs to it.
struct ResolvedProgram {
  ir::Program program;        ///< specialised: options are fixed and absent inputs gone
  ir::Program declared = {};  ///< as the text declares it, with its options
  /// The inputs that are stored as the caller asks; the types of a file's inputs stand in its text.
  std::vector<std::string> storage_inputs;
  double absolute_tolerance = 1e-5;  ///< the operator's; these are for a file's program
  double relative_tolerance = 2e-5;
  int code_tolerance = 1;
  std::optional<plan::Plan> plan;
};

/// The program of an operator or of a FILE.fold, and the plan if one is named. Of the request, a file's text takes only what is
/// known. Refuses the kinds that this version cannot use (kernel_kind_unsupported), lane modules, which are no row programs
/// (kernel_not_for_verb), unknown operators and forms, and what kernels::build and ir::specialise refuse.
Result<ResolvedProgram> resolve_program(const KernelName& name, const kernels::Build& request);

/// The verified module of a FILE.lane.
Result<lane::Module> read_lane_module(const KernelName& name);
/// The module of a FILE.lane of which only the structure is verified: for the lane machine, which finds by running it whether barriers and
/// SIMD-group operations stand where all lanes come.
Result<lane::Module> read_lane_structure(const KernelName& name);

}  // namespace lanefold::driver
