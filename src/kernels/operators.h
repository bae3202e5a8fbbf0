// Declares the function that describes each operator; for the operators' own files and the registry.
#pragma once

#include "kernels/registry.h"

namespace lanefold::kernels {

#define LANEFOLD_OPERATOR(name) Operator name##_operator();
#include "kernels/operators.def"
#undef LANEFOLD_OPERATOR

}  // namespace lanefold::kernels
