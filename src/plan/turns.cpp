#include "plan/turns.h"

#include <algorithm>
#include <bit>

#include "plan/layout.h"

namespace lanefold::plan {
namespace {

constexpr std::int64_t kSliceLanes =
    256;  // times three columns a lane and eight vectors in f32: 24 KiB, of a first cache of 32
// A cache finds its place by the address modulo 4 KiB. With this gap after a power of two of at least 4 KiB, four copies
// begin at four different kilobytes.
constexpr std::uint32_t kGap = 768;

}  // namespace

std::uint32_t rows_in_turn(const Plan& plan) {
  if (plan.simd_groups_per_row != 1 || plan.threads < plan.simd_width) return 1;
  return std::max(1u, plan.rows_per_threadgroup / (plan.threads / plan.simd_width * plan.layout.rows_per_simd_group));
}

std::uint32_t joined_folds(const Analysis& analysis) {
  return std::bit_ceil(static_cast<std::uint32_t>(analysis.row_folds.size()));
}

std::uint32_t joined_registers(std::uint32_t simd_width, const Analysis& analysis) {
  return simd_width / joined_folds(analysis);
}

bool may_take_turns(const Plan& plan, const Analysis& analysis) {
  if (!analysis.joins || plan.order != ir::Order::canonical || plan.width.segmented) return false;
  if (plan.layout.rows_per_simd_group != 1 || plan.threads != plan.simd_width || plan.stripe != Stripe::reload)
    return false;
  if (!sweeps_along_row(plan) || count_bits(plan.layout, Owner::pass) == 0) return false;
  const std::uint32_t registers = joined_registers(plan.simd_width, analysis);
  return registers > 0 && (1u << count_bits(plan.layout, Owner::reg)) >= registers;
}

std::int64_t slice_lanes(const Plan& plan) {
  return std::max(bank_span(plan.layout), std::min(kSliceLanes, plan.width.virtual_lanes));
}

std::uint32_t slice_elements(const Plan& plan) {
  const std::int64_t steps = (plan.width.max_cols + plan.width.virtual_lanes - 1) / plan.width.virtual_lanes;
  return static_cast<std::uint32_t>(steps * slice_lanes(plan)) + kGap;
}

std::uint64_t turn_bytes(const Plan& plan, const Analysis& analysis) {
  const std::uint64_t passes = std::uint64_t{1} << count_bits(plan.layout, Owner::pass);
  const std::uint64_t copies = std::uint64_t{4} * slice_elements(plan) * analysis.shared_inputs.size();
  return copies + std::uint64_t{4} * passes * plan.simd_width * plan.rows_per_threadgroup;
}

}  // namespace lanefold::plan
