// Fold orders: which bits come out of a fold.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lanefold::ir {

enum class Order : std::uint8_t { serial, canonical, free };

std::string_view order_name(Order order);
std::optional<Order> order_from_name(std::string_view name);

/// The constants of canonical order version 1 (docs/decisions/0002-canonical-order.md). Changing one is a new version.
struct CanonicalOrder {
  static constexpr int version = 1;
  static constexpr std::int64_t elements_per_lane = 4;  ///< C
  static constexpr std::int64_t min_virtual_lanes = 32;
  static constexpr std::int64_t max_virtual_lanes = 4096;  ///< Vmax
  static constexpr std::int64_t segment = 32768;           ///< L, columns per segment

  /// V: the smallest power of two ≥ min(cols, L)/C, clamped to [32, Vmax]. cols ≥ 1.
  static constexpr std::int64_t virtual_lanes(std::int64_t cols) {
    const std::int64_t n = cols < segment ? cols : segment;
    std::int64_t v = min_virtual_lanes;
    while (v < max_virtual_lanes && v * elements_per_lane < n) v *= 2;
    return v;
  }
  /// Number of segments of a row of `cols` columns.
  static constexpr std::int64_t segments(std::int64_t cols) { return (cols + segment - 1) / segment; }
};

}  // namespace lanefold::ir
