// Lane modules as source text of their target's language.
#pragma once

#include <string>

#include "base/result.h"
#include "ir/order.h"
#include "lane/module.h"
#include "plan/plan.h"
#include "target/target.h"

namespace lanefold::driver {

/// Lines of comment above a planned kernel's source: the plan, and what a call must keep to.
std::string plan_comment(const plan::Plan& plan);

/// The module as source of the target's family: CUDA C++ for cuda. Under the order free the device's fast functions may stand
/// in it. Refuses targets without a source language (no_source_language) and what the language's emitter refuses.
Result<std::string> source_text(const lane::Module& module, const target::Target& target, ir::Order order);

}  // namespace lanefold::driver
