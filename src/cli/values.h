// Option values: from text to numbers, names and assignments, each with a diagnostic of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/element_type.h"
#include "base/result.h"
#include "ir/order.h"

namespace lanefold::cli {

/// A whole number in [least, most]; `option` is its place, such as "--rows".
Result<std::int64_t> parse_count(const std::string& option, const std::string& text, std::int64_t least,
                                 std::int64_t most);
/// The same for an option that was not given where the text is empty.
Result<std::optional<std::uint32_t>> parse_optional_count(const std::string& option, const std::string& text,
                                                          std::uint32_t least, std::uint32_t most);
/// What --alignment promises of a call with so many columns, in elements: a power of two that divides them, at most
/// plan::kMostAlignment. Empty: that of rows without gaps.
Result<std::uint32_t> parse_alignment(const std::string& text, std::int64_t cols);
/// A number as it is written.
Result<double> parse_number(const std::string& place, const std::string& text);
/// A number that f32 can hold (infinities only where written so).
Result<float> parse_real(const std::string& place, const std::string& text);
/// An element type in which operators are stored.
Result<ElementType> parse_storage(const std::string& text);
Result<ir::Order> parse_order(const std::string& text);

/// NAME=VALUE pairs of a repeated option, in the order given.
using Assignments = std::vector<std::pair<std::string, std::string>>;
Result<Assignments> parse_assignments(const std::string& option, const std::vector<std::string>& texts);

/// The most rows or columns that may be asked for: their bytes in a double, and their number in any sum, stay exact enough.
inline constexpr std::int64_t kMostSize = std::int64_t{1} << 48;

}  // namespace lanefold::cli
