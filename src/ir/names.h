// Names in row programs: which may be given, and which are words of the language.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "ir/program.h"

namespace lanefold::ir {

/// The most inputs, parameters, outputs, state fields or element fields that one program or monoid may have.
inline constexpr std::size_t kMaxNames = 64;
/// The largest block of a block fold or a block-shaped array.
inline constexpr std::uint32_t kMaxBlock = 32768;
/// The longest inner axis.
inline constexpr std::uint32_t kMaxInner = 16;

/// A letter or '_', then letters, digits and '_'.
bool is_identifier(std::string_view text);
/// A word of the language: no input, parameter, value, output, field or monoid can have this name.
bool is_reserved(std::string_view text);
/// The operation that is written as a function of this name.
std::optional<Op> function_from_name(std::string_view name);
/// The fault of giving this name to something, if it is one; `what` is such as "input". Programs may be named by words of
/// the language, for nothing in the text refers to them.
std::optional<Diagnostic> name_fault(std::string_view name, std::string_view what);
/// An input, a parameter, col, cols or rows: what the text refers to by a name of its own, so that none is given to it.
bool has_own_name(Op op);
/// What the text calls the input or output of that name: x for the places of the inner axis of x, w for the codes and scales of w.
const std::string& declared_name(const std::string& name, const Part& part);
/// The same where the places of an inner axis differ: x[2].
std::string part_name(const std::string& name, const Part& part);
/// Whether the built-in monoid takes the column index as its last argument by itself.
bool takes_column_index(const Monoid& monoid);

}  // namespace lanefold::ir
