// metal_subgroup_reduction_v1: the published prior for SIMD-group reductions on Apple GPUs. It counts rounds of SIMD-wide
// steps, barriers and threadgroup starts; it knows neither bytes nor caches.
#include <algorithm>
#include <bit>

#include "plan/candidate.h"
#include "plan/layout.h"

namespace lanefold::plan {
namespace {

bool prices(target::Family family) { return family == target::Family::metal; }

std::int64_t rounds(std::int64_t elements, std::int64_t workers) { return (elements + workers - 1) / workers; }

/// Lane bits first and group bits on top; under the canonical order what is left of V goes to registers and passes.
Layout layout_for(const Context& context, std::uint32_t groups) {
  const std::uint32_t simd = context.target.simd_width;
  LayoutBits bits;
  bits.lane = log2_exact(simd);
  bits.simd_group = std::has_single_bit(groups) ? log2_exact(groups) : 0;
  if (context.order == ir::Order::canonical) {
    const std::uint32_t width =
        log2_exact(static_cast<std::uint64_t>(ir::CanonicalOrder::virtual_lanes(context.request.cols)));
    bits.lane = std::min(bits.lane, width);
    const std::uint32_t used = bits.lane + bits.simd_group;
    if (used < width) {
      // A stripe in registers allows no passes; without one, fewer accumulators leave room for loads.
      const std::uint32_t most = context.analysis.tile_values > 0 ? 6 : 1;
      bits.reg = std::min(most, width - used);
      bits.pass = width - used - bits.reg;
    }
  }
  return make_layout(bits, simd >> bits.lane);
}

std::vector<Draft> propose(const Context& context) {
  std::vector<Draft> drafts;
  const std::int64_t most = context.target.planned_threads / context.target.simd_width;
  for (const std::uint32_t groups : simd_group_choices(context, {1, 2, 4, 8})) {
    Draft d;
    d.simd_groups_per_row = groups;
    d.layout = layout_for(context, groups);
    d.kept_values = context.analysis.tile_values;
    // A block that a bank cannot hold is folded by a sweep along the row, which a stripe in registers does not allow.
    const bool along_row = context.analysis.widest_block_fold > bank_span(d.layout);
    d.stripe = context.request.stripe.value_or(d.kept_values > 0 && !along_row ? Stripe::registers : Stripe::reload);
    const std::uint32_t packed = d.layout.rows_per_simd_group;
    const std::int64_t filled = (context.request.rows + packed - 1) / packed;  // SIMD groups that have a row
    const auto own = static_cast<std::uint32_t>(std::clamp<std::int64_t>(filled, 1, most)) * packed;
    if (groups > 1) {
      d.rows_per_threadgroup = context.request.rows_per_threadgroup.value_or(1);
      drafts.push_back(d);
      continue;
    }
    for (const std::uint32_t rows : row_choices(context, packed, {own})) {
      d.rows_per_threadgroup = rows;
      drafts.push_back(d);
    }
  }
  return drafts;
}

double cost(const Context& context, const Plan& plan) {
  const std::int64_t workers = std::int64_t{plan.simd_width} * plan.simd_groups_per_row;
  const auto folds = static_cast<std::int64_t>(context.analysis.row_folds.size());
  std::int64_t total = folds * rounds(plan.cols, workers);
  for (const std::int64_t domain : context.analysis.domains(plan.cols)) total += rounds(domain, workers);
  const double score =
      static_cast<double>(total + 2 * folds * plan.simd_groups_per_row) + 16.0 / plan.rows_per_threadgroup;
  return score * static_cast<double>(std::max<std::int64_t>(1, rounds(plan.rows, 64)));
}

}  // namespace

const CostBasis& metal_subgroup_reduction_v1() {
  static const CostBasis kBasis = {"metal_subgroup_reduction_v1", ir::Order::free, prices, propose, cost};
  return kBasis;
}

}  // namespace lanefold::plan
