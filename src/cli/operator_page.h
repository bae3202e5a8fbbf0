// The library as documents: one Markdown page per operator and an index of them, made from the registry alone.
#pragma once

#include <string>

#include "base/result.h"
#include "ir/program.h"
#include "kernels/registry.h"

namespace lanefold::cli {

/// The default of a parameter, which is f32: the shortest decimal that means the same one.
std::string default_text(const ir::Parameter& parameter);

/// "T" where the element type follows the storage in which the operator is built, else its name. The programs are the
/// operator's in two storages.
std::string input_type(const ir::Program& program, const ir::Program& other, std::size_t input);
std::string output_type(const ir::Program& program, const ir::Program& other, std::size_t output);

/// The page of one operator.
Result<std::string> operator_page(const kernels::Operator& op);

/// The page that links to all others, which are named NAME.md.
std::string operator_index();

}  // namespace lanefold::cli
