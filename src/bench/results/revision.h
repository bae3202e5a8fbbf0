// Which source this binary was built from.
#pragma once

#include <optional>
#include <string_view>

namespace lanefold::bench {

/// The git revision that was checked out when this was built, as 40 (or 64) hexadecimal digits; empty: unknown.
std::string_view source_revision();
/// Whether tracked files differed from that revision; none: unknown.
std::optional<bool> source_dirty();

}  // namespace lanefold::bench
