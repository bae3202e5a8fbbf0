#include "verify/helpers.h"

#include <array>
#include <string>

#include "ir/program.h"
#include "lower/functions.h"
#include "math/portable.h"

namespace lanefold::verify {
namespace {

using machine::Helper;

/// A module that has every helper, each as the library makes it.
const lane::Module& library() {
  static const lane::Module module = [] {
    lane::Module made;
    made.name = "library";
    lower::FunctionTable functions(made);
    lane::Function scratch;
    scratch.types = {ElementType::f32, ElementType::f32};
    lane::Builder b(scratch.types, scratch.body);
    for (const math::Function function : {math::Function::exp, math::Function::exp_nonpositive, math::Function::log,
                                          math::Function::tanh, math::Function::sigmoid, math::Function::erf})
      functions.call(b, function, 0);
    functions.quantize(b, 0, 1);
    for (const char* name : {"argmax", "argmin"}) {
      const ir::Monoid monoid = *ir::builtin_monoid(name);
      functions.merge(monoid, false);
      const lane::ValueId index = b.i32(0);
      const std::array<lane::ValueId, 2> state = {0, index};
      functions.step_ascending(b, monoid, state, state);
    }
    return made;
  }();
  return module;
}

std::string definition(const lane::Module& module, std::size_t function) {
  // Printed alone: a call prints the name of what it calls.
  lane::Module alone;
  alone.name = "m";
  alone.functions.assign(module.functions.begin(),
                         module.functions.begin() + static_cast<std::ptrdiff_t>(function) + 1);
  const std::string all = lane::print(alone);
  return all.substr(all.rfind("\nfunction "));
}

Helper meaning(const std::string& name) {
  if (name == "merge_argmax" || name == "merge_argmin")
    return {Helper::Kind::arg_merge, name.substr(std::string("merge_").size())};
  if (name == "step_argmax" || name == "step_argmin")
    return {Helper::Kind::arg_step, name.substr(std::string("step_").size())};
  return {Helper::Kind::named, name};
}

}  // namespace

std::vector<Helper> standard_helpers(const lane::Module& module) {
  std::vector<Helper> helpers(module.functions.size());
  for (std::size_t i = 0; i < helpers.size(); ++i)
    for (std::size_t k = 0; k < library().functions.size(); ++k) {
      if (library().functions[k].name != module.functions[i].name) continue;
      // What it calls must be the library's too, and was decided before it.
      bool same = definition(module, i) == definition(library(), k);
      for (const lane::Statement& s : module.functions[i].body)
        if (s.op == lane::Op::call && helpers[s.a].kind == Helper::Kind::inlined) same = false;
      if (same) helpers[i] = meaning(module.functions[i].name);
    }
  return helpers;
}

}  // namespace lanefold::verify
