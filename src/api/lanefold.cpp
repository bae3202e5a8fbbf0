#include "lanefold/lanefold.h"

#include <fmt/format.h>

#include "api/arguments.h"
#include "api/failure.h"
#include "api/kernel.h"
#include "api/options.h"
#include "driver/kernel_name.h"
#include "driver/version.h"
#include "ir/parameters.h"
#include "kernels/registry.h"
#include "verify/standard_inputs.h"

namespace lanefold {
namespace {

using api::fail;
using api::value_or_fail;

/// What is known of the program before any call.
ir::Known known(const Options& options) {
  ir::Known result = {.absent = options.absent};
  for (const Parameter& fixed : options.fixed)
    result.options.emplace_back(fixed.name, static_cast<double>(fixed.value));
  return result;
}

std::string weight_format(Type type) {
  return type == Type::q8_0 ? "q8_0" : std::string(element_name(api::element_type(type)));
}

}  // namespace

Kernel::Implementation::Implementation(ir::Program the_program, verify::Tolerance the_tolerance,
                                       const Options& the_options)
    : program(std::move(the_program)),
      signature(program),
      tolerance(the_tolerance),
      options(api::device_options(the_options)),
      defaults(verify::default_parameters(program)) {
  if (options.device == "cuda") {
    cuda = value_or_fail(api::open_cuda(program, the_options, options.order));
    options.target = cuda->target();
  } else {
    device = value_or_fail(verify::open(program, options, api::team(the_options)));
  }
  for (const api::Declared& input : signature.inputs) inputs.push_back(api::port_of(program, input, false));
  for (const api::Declared& output : signature.outputs) outputs.push_back(api::port_of(program, output, true));
  const std::vector<bool> whole = ir::whole_parameters(program);
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (whole[i]) whole_parameters.push_back(i);
  for (std::size_t i = 0; i < defaults.size(); ++i) parameters.push_back({program.parameters[i].name, defaults[i]});
}

Kernel::Kernel(std::shared_ptr<const Implementation> implementation) : implementation_(std::move(implementation)) {}

Kernel Kernel::compile_operator(std::string_view name, Type storage, const Options& options) {
  const kernels::Operator* op = value_or_fail(kernels::find_or_explain(name));
  if (storage == Type::q8_0) fail(kernels::storage_not_offered(*op, "q8_0"));
  ir::Program program =
      value_or_fail(kernels::build(*op, {.storage = api::element_type(storage),
                                         .weights = options.weights ? weight_format(*options.weights) : "",
                                         .tokens = options.tokens,
                                         .known = known(options)}));
  const verify::Tolerance tolerance = {
      .absolute = op->absolute_tolerance, .relative = op->relative_tolerance, .code = op->code_tolerance};
  return Kernel(std::make_shared<const Implementation>(std::move(program), tolerance, options));
}

Kernel Kernel::compile_program(std::string_view text, const Options& options) {
  ir::Program program = value_or_fail(ir::parse(text));
  program = value_or_fail(ir::specialise(program, known(options)));
  if (options.weights || options.tokens != 1)
    fail({Code::option_not_for_kernel, fmt::format("{} is a program of the caller's own", program.name),
          "weights and tokens are for operators; a text says its types and inner axes itself", program.name});
  // The tolerances of a program that comes without any.
  const driver::ResolvedProgram usual;
  const verify::Tolerance tolerance = {
      .absolute = usual.absolute_tolerance, .relative = usual.relative_tolerance, .code = usual.code_tolerance};
  return Kernel(std::make_shared<const Implementation>(std::move(program), tolerance, options));
}

const std::string& Kernel::name() const { return implementation_->program.name; }
const std::vector<Port>& Kernel::inputs() const { return implementation_->inputs; }
const std::vector<Port>& Kernel::outputs() const { return implementation_->outputs; }
const std::vector<Parameter>& Kernel::parameters() const { return implementation_->parameters; }
Tolerance Kernel::tolerance() const {
  const verify::Tolerance& own = implementation_->tolerance;
  return {.absolute = own.absolute, .relative = own.relative, .code = own.code};
}
Device Kernel::device() const {
  if (implementation_->cuda) return Device::cuda;
  return implementation_->options.device == "cpu" ? Device::cpu : Device::lane_machine;
}
int Kernel::cuda_device() const { return implementation_->cuda ? implementation_->cuda->ordinal() : -1; }

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const kernels::Operator& op : kernels::operators()) names.emplace_back(op.name);
  return names;
}

std::string_view version() { return driver::kVersion; }

}  // namespace lanefold
