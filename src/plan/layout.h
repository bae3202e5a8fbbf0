// Layouts and width classes: how many bits each owner has, and whether a layout is one of its virtual lanes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "plan/plan.h"

namespace lanefold::plan {

/// The widest row that a column index can name.
inline constexpr std::int64_t kWidestRow = std::numeric_limits<std::int32_t>::max();

/// How many bits each owner gets; layout() puts them in the order component, lane, reg, pass, simd_group, cluster.
struct LayoutBits {
  std::uint32_t component = 0, lane = 0, reg = 0, pass = 0, simd_group = 0, cluster = 0;
};
Layout make_layout(const LayoutBits& bits, std::uint32_t rows_per_simd_group = 1);

/// Bits that belong to the owner.
std::uint32_t count_bits(const Layout& layout, Owner owner);
/// 2^bits: the virtual lanes that the layout assigns.
std::int64_t virtual_lanes(const Layout& layout);
/// Lanes that share a row.
std::uint32_t workers_per_row(const Layout& layout);
/// Consecutive virtual lanes that the registers of one SIMD group hold at once.
std::int64_t bank_span(const Layout& layout);
/// Elements of a row of `cols` columns that the busiest worker owns, whole vector components counted.
std::int64_t elements_per_worker(const Layout& layout, std::int64_t cols);

/// Columns of a row of `cols` that one threadgroup, or cluster of the layout, has at a time: with `registers`, a segment at most.
std::int64_t part_of_row(const WidthClass& width, Stripe stripe, std::int64_t cols);
/// Threadgroups that share a row: those that the layout has, for each segment where the row stays in registers.
std::uint32_t cluster_size(const Layout& layout, const WidthClass& width, Stripe stripe);

/// What keeps the layout from being one of `width` under `order` on SIMD groups of `simd_width` lanes, if anything
/// (plan_layout_invalid).
std::optional<Diagnostic> layout_fault(const Layout& layout, ir::Order order, std::int64_t width,
                                       std::uint32_t simd_width);

/// Whether sweeps that need no order may run along the row: the row has no more than one SIMD group, its lanes are the lowest bits, and
/// nothing is kept in registers by virtual lane.
bool sweeps_along_row(const Plan& plan);

/// The widest alignment that is planned for: sixteen bytes of the narrowest type.
inline constexpr std::uint32_t kMostAlignment = 16;
/// The alignment of rows that lie one after another from an aligned address: the greatest power of two that divides `cols`, up to
/// kMostAlignment.
std::uint32_t dense_alignment(std::int64_t cols);

/// The class of widths that share V and the segment count class with `cols` under the canonical order.
WidthClass canonical_width_class(std::int64_t cols);

/// log2 of a power of two.
std::uint32_t log2_exact(std::uint64_t value);

}  // namespace lanefold::plan
