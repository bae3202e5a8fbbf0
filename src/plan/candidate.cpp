#include "plan/candidate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "plan/layout.h"
#include "plan/turns.h"

namespace lanefold::plan {
namespace {

std::uint32_t saturated(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

/// Under `free` the workers' total width is V. Where a stripe is kept, its arrays have the size of the widest row, so the
/// classes are powers of two of steps, cut where the registers end.
WidthClass free_width_class(const Context& context, const Draft& draft) {
  WidthClass w;
  w.virtual_lanes = virtual_lanes(draft.layout);
  w.min_cols = 1;
  w.max_cols = kWidestRow;
  if (draft.stripe == Stripe::reload || (draft.kept_values == 0 && draft.stripe != Stripe::registers)) return w;
  const std::int64_t steps = (context.request.cols + w.virtual_lanes - 1) / w.virtual_lanes;
  const auto ceiling = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(steps)));
  std::int64_t most = ceiling;
  if (draft.stripe == Stripe::registers) {
    const std::int64_t values = w.virtual_lanes / workers_per_row(draft.layout) * std::max(1u, draft.kept_values);
    most = std::clamp<std::int64_t>(context.target.vector_registers / values, steps, ceiling);
  }
  w.min_cols = ceiling == 1 ? 1 : ceiling / 2 * w.virtual_lanes + 1;
  w.max_cols = std::min(kWidestRow, most * w.virtual_lanes);
  return w;
}

WidthClass order_class(const Context& context, const Draft& draft) {
  switch (context.order) {
    case ir::Order::serial: return {1, 1, kWidestRow, false};
    case ir::Order::canonical: return canonical_width_class(context.request.cols);
    case ir::Order::free: return free_width_class(context, draft);
  }
  internal_error("order_class: not an order");
}

WidthClass width_class(const Context& context, const Draft& draft) {
  WidthClass w = order_class(context, draft);
  w.alignment = std::min(context.request.alignment, 1u << count_bits(draft.layout, Owner::component));
  if (draft.stripe != Stripe::registers || context.target.family != target::Family::cuda) return w;
  // The code of such a plan has all chunks of V columns: one more or less is another kernel, which keeps no registers for nothing.
  if (w.segmented) {
    constexpr std::int64_t length = ir::CanonicalOrder::segment;
    const std::int64_t segments = ir::CanonicalOrder::segments(context.request.cols);
    w.max_cols = segments * length;
    // Whole segments, one for each threadgroup: nothing is guarded then.
    const bool whole = context.request.cols == w.max_cols && std::has_single_bit(static_cast<std::uint64_t>(segments));
    w.min_cols = whole ? w.max_cols : (segments - 1) * length + 1;
    return w;
  }
  const std::int64_t chunks = (context.request.cols + w.virtual_lanes - 1) / w.virtual_lanes;
  w.min_cols = std::max(w.min_cols, (chunks - 1) * w.virtual_lanes + 1);
  w.max_cols = std::min(w.max_cols, chunks * w.virtual_lanes);
  return w;
}

}  // namespace

std::span<const CostBasis* const> cost_bases() {
  static const std::array<const CostBasis*, 4> kBases = {&metal_subgroup_reduction_v1(), &cpu_traffic_v1(),
                                                         &simd_traffic_v1(), &cuda_traffic_v1()};
  return kBases;
}

Plan assemble(const Context& context, const Draft& draft) {
  const Analysis& analysis = context.analysis;
  Plan p;
  p.program = context.program.name;
  p.target = context.target.name;
  p.order = context.order;
  p.rows = context.request.rows;
  p.cols = context.request.cols;
  p.width = width_class(context, draft);
  p.layout = draft.layout;
  p.simd_width = context.target.simd_width;
  p.simd_groups_per_row = draft.simd_groups_per_row;
  p.rows_per_threadgroup = draft.rows_per_threadgroup;
  const std::uint64_t groups = draft.simd_groups_per_row > 1
                                   ? draft.simd_groups_per_row
                                   : draft.rows_per_threadgroup / draft.layout.rows_per_simd_group / draft.rows_in_turn;
  p.threads = saturated(groups * p.simd_width);
  p.stripe = draft.stripe;
  p.unroll = draft.unroll;
  p.early_loads = draft.early_loads && p.stripe == Stripe::registers;
  p.cluster = cluster_size(p.layout, p.width, p.stripe);
  p.programmatic_launch = context.target.programmatic_launch;
  if (p.stripe == Stripe::registers) {
    p.private_stripe =
        saturated(static_cast<std::uint64_t>(elements_per_worker(p.layout, part_of_row(p.width, p.stripe, p.cols))) *
                  draft.kept_values);
  }
  p.threadgroup_bytes = threadgroup_bytes(p, analysis);
  p.barriers = barrier_sites(p, analysis);
  return p;
}

std::uint32_t barrier_sites(const Plan& plan, const Analysis& analysis) {
  if (plan.simd_groups_per_row == 1 && plan.cluster == 1) return 0;
  // Segments use the same partials again, so each fold waits before it writes, too.
  const bool again = plan.width.segmented && plan.order == ir::Order::canonical && plan.stripe != Stripe::registers;
  const std::uint32_t per_fold = again ? 2 : 1;
  return per_fold * folds_apart(plan, analysis);
}

std::uint32_t folds_apart(const Plan& plan, const Analysis& analysis) {
  const bool joined = plan.order == ir::Order::free && plan.stripe == Stripe::registers;
  return static_cast<std::uint32_t>(analysis.row_folds.size() - (joined ? analysis.shifted_sums.size() : 0));
}

std::uint32_t threadgroup_bytes(const Plan& plan, const Analysis& analysis) {
  if (rows_in_turn(plan) > 1) return saturated(turn_bytes(plan, analysis));
  std::uint64_t bytes = 0;
  const std::uint64_t passes = std::uint64_t{1} << count_bits(plan.layout, Owner::pass);
  for (const Sweep& sweep : analysis.sweeps) {
    if (plan.simd_groups_per_row > 1 || plan.cluster > 1)
      bytes += std::uint64_t{sweep.state_bytes} * plan.simd_groups_per_row * plan.cluster;
    // Passes leave one state per lane, unless the sweep runs along the row.
    if (passes > 1 && !(sweep.any_order && sweeps_along_row(plan))) bytes += sweep.state_bytes * passes * plan.threads;
  }
  if (plan.stripe == Stripe::threadgroup_memory) {
    bytes += static_cast<std::uint64_t>(4 * plan.width.max_cols) * analysis.tile_values * plan.rows_per_threadgroup;
  }
  return saturated(bytes);
}

std::optional<Diagnostic> stripe_fault(const Plan& plan, const Analysis& analysis) {
  if (plan.stripe != Stripe::registers && plan.cluster > 1) {
    return Diagnostic{Code::cluster_layout_unsupported,
                      fmt::format("{} threadgroups share a row, which only stripe registers does", plan.cluster),
                      "ask for stripe registers, or give those bits to passes or SIMD groups", plan.program};
  }
  if (plan.stripe == Stripe::reload) return std::nullopt;
  const std::uint32_t passes = count_bits(plan.layout, Owner::pass);
  if (plan.stripe == Stripe::registers && (passes > 0 || (plan.width.segmented && plan.width.max_cols == kWidestRow))) {
    return Diagnostic{Code::stripe_needs_one_pass,
                      fmt::format("the layout makes {} passes over {}, so registers cannot hold a row's temporaries",
                                  1u << passes, plan.width.segmented ? "each segment" : "the row"),
                      "ask for more SIMD groups per row, or for stripe reload", plan.program};
  }
  if ((analysis.tile_values > 0 || plan.stripe == Stripe::registers) && plan.width.max_cols == kWidestRow) {
    return Diagnostic{Code::row_temporaries_unbounded,
                      fmt::format("a kernel for {} columns or more serves rows of any width, so stripe {} has no size",
                                  plan.width.min_cols, stripe_name(plan.stripe)),
                      "ask for stripe reload", plan.program};
  }
  return std::nullopt;
}

namespace {

/// A sweep along the row takes banks as wide as any block; the other ones have the layout's.
std::int64_t block_span(const Plan& plan, const Analysis& analysis) {
  const bool along =
      sweeps_along_row(plan) && std::all_of(analysis.sweeps.begin(), analysis.sweeps.end(),
                                            [](const Sweep& s) { return s.any_order || !s.folds_blocks; });
  return along ? std::max<std::int64_t>(analysis.widest_block_fold, bank_span(plan.layout)) : bank_span(plan.layout);
}

}  // namespace

legality::Question question_of(const ir::Program& program, const Analysis& analysis, const target::Target& target,
                               const Plan& plan) {
  const auto part = [&](std::int64_t cols) { return part_of_row(plan.width, plan.stripe, cols); };
  // Registers hold the stripe of the widest row of the class, whatever the width that was planned for.
  const auto elements =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, elements_per_worker(plan.layout, part(plan.cols))));
  const auto widest = static_cast<std::uint64_t>(elements_per_worker(plan.layout, part(plan.width.max_cols)));
  std::uint64_t stripe = 0;
  if (plan.stripe == Stripe::registers) {
    const std::uint64_t kept = std::max<std::uint64_t>(plan.private_stripe / elements, analysis.tile_values);
    stripe = std::max<std::uint64_t>(plan.private_stripe, kept * widest);
    // CUDA kernels hold elements of 16 bits two to a register.
    if (target.family == target::Family::cuda && analysis.kept_values > 0) {
      const double later = plan.early_loads ? static_cast<double>(analysis.later_inputs.size()) : 0;
      const double later_registers = plan.early_loads ? analysis.later_registers : 0;
      const double share = (analysis.kept_registers + later_registers) / (analysis.kept_values + later);
      stripe = static_cast<std::uint64_t>(std::ceil(static_cast<double>(stripe) * share));
    }
  }
  return {.program = program,
          .order = plan.order,
          .cols = plan.cols,
          .workers_per_row = workers_per_row(plan.layout),
          .threads = plan.threads,
          .cluster = plan.cluster,
          .threadgroup_bytes = plan.threadgroup_bytes,
          .private_stripe = saturated(stripe),
          .virtual_lanes = plan.width.virtual_lanes,
          .block_span = block_span(plan, analysis),
          .target = target};
}

bool registers_have_room(const Context& context, Draft draft) {
  draft.stripe = Stripe::registers;
  const Plan p = assemble(context, draft);
  if (stripe_fault(p, context.analysis)) return false;
  const legality::Question q = question_of(context.program, context.analysis, context.target, p);
  return q.private_stripe <= context.target.vector_registers;
}

std::vector<std::uint32_t> simd_group_choices(const Context& context, std::vector<std::uint32_t> own) {
  if (context.request.simd_groups) return {*context.request.simd_groups};
  if (context.request.group_threads) own.push_back(*context.request.group_threads / context.target.simd_width);
  std::sort(own.begin(), own.end());
  own.erase(std::unique(own.begin(), own.end()), own.end());
  return own;
}

std::vector<std::uint32_t> row_choices(const Context& context, std::uint32_t rows_per_simd_group,
                                       std::vector<std::uint32_t> own) {
  if (context.request.rows_per_threadgroup) return {*context.request.rows_per_threadgroup};
  if (context.request.group_threads) {
    return {*context.request.group_threads / context.target.simd_width * rows_per_simd_group};
  }
  std::sort(own.begin(), own.end());
  own.erase(std::unique(own.begin(), own.end()), own.end());
  return own;
}

}  // namespace lanefold::plan
