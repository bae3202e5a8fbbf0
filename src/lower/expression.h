// One operation of a row program as lane operations.
#pragma once

#include <span>
#include <vector>

#include "ir/program.h"
#include "lane/builder.h"
#include "lower/functions.h"

namespace lanefold::lower {

/// The lane value of an arithmetic operation over lane values; constants too, but not inputs, folds, col, cols or gathers.
ValueId emit_operation(const ir::Value& value, std::span<const ValueId> operands, lane::Builder& builder,
                       FunctionTable& functions);

/// Straight-line code inlined: the body's parameters are `parameters`; returns the body's results.
std::vector<ValueId> emit_body(const ir::Body& body, std::span<const ValueId> parameters, lane::Builder& builder,
                               FunctionTable& functions);

/// A constant of the type, from a literal as the program writes it.
ValueId emit_literal(lane::Builder& builder, ElementType type, double literal);

}  // namespace lanefold::lower
