#include "plan/layout.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace lanefold::plan {
namespace {

constexpr std::size_t kMostBits = 20;         // far beyond any device; keeps 2^bits small
constexpr std::uint32_t kMostComponents = 3;  // eight halves are a 16-byte load
constexpr std::uint32_t kMostRegisterBits = 6;
constexpr std::uint32_t kMostClusterBits = 4;

/// The place of an owner in the order that layouts keep; reg and lane bits mix.
int rank(Owner owner) {
  switch (owner) {
    case Owner::component: return 0;
    case Owner::reg:
    case Owner::lane: return 1;
    case Owner::pass: return 2;
    case Owner::simd_group: return 3;
    case Owner::cluster: return 4;
  }
  internal_error("rank: not an owner");
}

Diagnostic fault(std::string message, std::string hint) {
  return Diagnostic{Code::plan_layout_invalid, std::move(message), std::move(hint), "layout"};
}

}  // namespace

std::string_view owner_name(Owner owner) {
  switch (owner) {
    case Owner::component: return "component";
    case Owner::reg: return "reg";
    case Owner::lane: return "lane";
    case Owner::simd_group: return "simd_group";
    case Owner::cluster: return "cluster";
    case Owner::pass: return "pass";
  }
  internal_error("owner_name: not an owner");
}

std::string_view stripe_name(Stripe stripe) {
  switch (stripe) {
    case Stripe::reload: return "reload";
    case Stripe::registers: return "registers";
    case Stripe::threadgroup_memory: return "threadgroup_memory";
  }
  internal_error("stripe_name: not a stripe");
}

std::uint32_t log2_exact(std::uint64_t value) {
  if (!std::has_single_bit(value)) internal_error(fmt::format("log2_exact: {} is not a power of two", value));
  return static_cast<std::uint32_t>(std::countr_zero(value));
}

Layout make_layout(const LayoutBits& bits, std::uint32_t rows_per_simd_group) {
  Layout layout;
  layout.rows_per_simd_group = rows_per_simd_group;
  const auto append = [&](Owner owner, std::uint32_t count) { layout.bits.insert(layout.bits.end(), count, owner); };
  append(Owner::component, bits.component);
  append(Owner::lane, bits.lane);
  append(Owner::reg, bits.reg);
  append(Owner::pass, bits.pass);
  append(Owner::simd_group, bits.simd_group);
  append(Owner::cluster, bits.cluster);
  return layout;
}

std::uint32_t count_bits(const Layout& layout, Owner owner) {
  return static_cast<std::uint32_t>(std::count(layout.bits.begin(), layout.bits.end(), owner));
}

std::int64_t virtual_lanes(const Layout& layout) {
  if (layout.bits.size() > kMostBits) internal_error("virtual_lanes: the layout was not checked");
  return std::int64_t{1} << layout.bits.size();
}

std::uint32_t workers_per_row(const Layout& layout) {
  return 1u << (count_bits(layout, Owner::lane) + count_bits(layout, Owner::simd_group) +
                count_bits(layout, Owner::cluster));
}

std::int64_t bank_span(const Layout& layout) {
  return std::int64_t{1} << (count_bits(layout, Owner::component) + count_bits(layout, Owner::reg) +
                             count_bits(layout, Owner::lane));
}

std::int64_t elements_per_worker(const Layout& layout, std::int64_t cols) {
  const std::int64_t vector = std::int64_t{1} << count_bits(layout, Owner::component);
  const std::int64_t step = vector * workers_per_row(layout);
  return (cols + step - 1) / step * vector;
}

std::int64_t part_of_row(const WidthClass& width, Stripe stripe, std::int64_t cols) {
  const bool parts = width.segmented && stripe == Stripe::registers;
  return parts ? std::min(cols, ir::CanonicalOrder::segment) : cols;
}

std::uint32_t cluster_size(const Layout& layout, const WidthClass& width, Stripe stripe) {
  const std::uint32_t own = 1u << count_bits(layout, Owner::cluster);
  if (!width.segmented || stripe != Stripe::registers) return own;
  const auto segments = static_cast<std::uint64_t>(ir::CanonicalOrder::segments(width.max_cols));
  return own * static_cast<std::uint32_t>(std::bit_ceil(segments));
}

std::optional<Diagnostic> layout_fault(const Layout& layout, ir::Order order, std::int64_t width,
                                       std::uint32_t simd_width) {
  if (layout.bits.size() > kMostBits) {
    return fault(fmt::format("the layout has {} bits; {} is the most", layout.bits.size(), kMostBits),
                 "a layout has one bit for each bit of the virtual lane index");
  }
  for (std::size_t b = 1; b < layout.bits.size(); ++b) {
    if (rank(layout.bits[b - 1]) <= rank(layout.bits[b])) continue;
    return fault(fmt::format("bit {} belongs to {}, after a {} bit", b, owner_name(layout.bits[b]),
                             owner_name(layout.bits[b - 1])),
                 "order the bits component, then reg and lane, then pass, simd_group and cluster");
  }
  const std::uint32_t rows = layout.rows_per_simd_group;
  const std::uint32_t lanes = count_bits(layout, Owner::lane), groups = count_bits(layout, Owner::simd_group);
  if (!std::has_single_bit(rows) || (std::uint64_t{rows} << lanes) != simd_width) {
    return fault(fmt::format("{} lane bits and {} rows per SIMD group do not fill SIMD groups of {} lanes", lanes, rows,
                             simd_width),
                 "2^(lane bits) times the rows per SIMD group is the SIMD width");
  }
  const std::uint32_t cluster = count_bits(layout, Owner::cluster);
  if (groups + cluster != 0 && rows != 1) {
    return fault(fmt::format("{} rows share SIMD groups of which {} share a row", rows, 1u << (groups + cluster)),
                 "pack rows only where each row has one SIMD group or less");
  }
  if (cluster > kMostClusterBits) {
    return fault(fmt::format("{} cluster bits are too many", cluster),
                 fmt::format("use at most {} cluster bits", kMostClusterBits));
  }
  if (count_bits(layout, Owner::component) > kMostComponents || count_bits(layout, Owner::reg) > kMostRegisterBits) {
    return fault(fmt::format("{} component and {} reg bits are too many", count_bits(layout, Owner::component),
                             count_bits(layout, Owner::reg)),
                 fmt::format("use at most {} component and {} reg bits, and pass bits for the rest", kMostComponents,
                             kMostRegisterBits));
  }
  if (order == ir::Order::serial && !layout.bits.empty()) {
    return fault(fmt::format("the layout has {} bits, but order serial has one virtual lane", layout.bits.size()),
                 "leave the layout's bits empty, one lane a row");
  }
  if (virtual_lanes(layout) != width) {
    return fault(fmt::format("the layout has {} bits, that is {} virtual lanes; the width class has {}",
                             layout.bits.size(), virtual_lanes(layout), width),
                 "a layout has one bit for each bit of the virtual lane index");
  }
  return std::nullopt;
}

WidthClass canonical_width_class(std::int64_t cols) {
  using C = ir::CanonicalOrder;
  WidthClass w;
  w.virtual_lanes = C::virtual_lanes(cols);
  if (cols > C::segment) {
    w.segmented = true;
    w.min_cols = C::segment + 1;
    w.max_cols = kWidestRow;
    return w;
  }
  w.min_cols = w.virtual_lanes == C::min_virtual_lanes ? 1 : w.virtual_lanes / 2 * C::elements_per_lane + 1;
  w.max_cols = w.virtual_lanes == C::max_virtual_lanes ? C::segment : w.virtual_lanes * C::elements_per_lane;
  return w;
}

std::uint32_t dense_alignment(std::int64_t cols) {
  std::uint32_t alignment = kMostAlignment;
  while (cols % alignment != 0) alignment /= 2;
  return alignment;
}

bool sweeps_along_row(const Plan& plan) {
  const std::uint32_t lanes = count_bits(plan.layout, Owner::lane);
  if (plan.simd_groups_per_row != 1 || plan.stripe == Stripe::registers || lanes == 0) return false;
  return std::all_of(plan.layout.bits.begin(), plan.layout.bits.begin() + lanes,
                     [](Owner owner) { return owner == Owner::lane; });
}

}  // namespace lanefold::plan
