// The numbers that callers give a program by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "ir/program.h"

namespace lanefold::ir {

/// The position of the parameter or option of that name.
std::optional<std::size_t> find_parameter(const Program& program, std::string_view name);

/// By parameter: whether the program reads it as a whole number alone, as i32(p).
std::vector<bool> whole_parameters(const Program& program);

/// The fault of a value that a parameter or option cannot have: what is read as a whole number must be one (number_invalid).
std::optional<Diagnostic> value_fault(const Program& program, std::size_t parameter, double value);

/// unknown_parameter, with the names that there are.
Diagnostic unknown_parameter(const Program& program, std::string_view name);

/// assignment_repeated.
Diagnostic repeated_parameter(const Program& program, std::string_view name);

}  // namespace lanefold::ir
