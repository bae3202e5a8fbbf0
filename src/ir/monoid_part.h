// The four bodies of a monoid, by name, and what is asked of each.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace lanefold::ir {

enum class MonoidPart : std::uint8_t { lift, step, merge, finish };
inline constexpr std::array<MonoidPart, 4> kMonoidParts = {MonoidPart::lift, MonoidPart::step, MonoidPart::merge,
                                                           MonoidPart::finish};

/// The words of the text form: "lift", "step", "merge", "finish".
std::string_view part_name(MonoidPart part);
const Body& part_body(const Monoid& monoid, MonoidPart part);
Body& part_body(Monoid& monoid, MonoidPart part);
/// The parameters of a part, in order. The right state of merge has its fields' names with an apostrophe: a'.
std::vector<Field> part_parameters(const Monoid& monoid, MonoidPart part);

/// Whether a built-in monoid has this name.
bool is_builtin_monoid(std::string_view name);

/// Every fault of a monoid's name, fields and identity.
std::vector<Diagnostic> verify_head(const Monoid& monoid, std::string_view file);
/// Every fault of one part: purity, number and types of its values.
std::vector<Diagnostic> verify_part(const Monoid& monoid, MonoidPart part, std::string_view file);
/// Every fault of a whole monoid: its head and its parts.
std::vector<Diagnostic> verify_monoid(const Monoid& monoid, std::string_view file);

}  // namespace lanefold::ir
