#include <bit>

#include <fmt/format.h>

#include "plan/candidate.h"
#include "plan/layout.h"
#include "plan/turns.h"

namespace lanefold::plan {
namespace {

Diagnostic inconsistent(const Plan& plan, std::string message) {
  return Diagnostic{Code::plan_inconsistent, std::move(message), "let `lanefold plan` write the plan anew",
                    plan.program};
}

std::optional<Diagnostic> width_fault(const Plan& plan) {
  const WidthClass& w = plan.width;
  bool right = w.min_cols >= 1 && w.min_cols <= w.max_cols && w.max_cols <= kWidestRow;
  switch (plan.order) {
    case ir::Order::canonical: {
      const WidthClass whole = canonical_width_class(w.min_cols);
      right = right && w.virtual_lanes == whole.virtual_lanes && w.segmented == whole.segmented &&
              w.max_cols <= whole.max_cols;
      break;
    }
    case ir::Order::serial: right = right && w == WidthClass{1, 1, kWidestRow, false, 1}; break;
    case ir::Order::free: right = right && !w.segmented; break;
  }
  if (right) return std::nullopt;
  return inconsistent(plan, fmt::format("order {} has no width class of {} virtual lanes for {} to {} columns",
                                        ir::order_name(plan.order), w.virtual_lanes, w.min_cols, w.max_cols));
}

/// Fields that follow from others.
std::optional<Diagnostic> field_fault(const Plan& plan, const Analysis& analysis) {
  const std::uint32_t groups = 1u << count_bits(plan.layout, Owner::simd_group);
  if (plan.simd_groups_per_row != groups) {
    return Diagnostic{
        Code::plan_layout_invalid,
        fmt::format("the layout spreads a row over {} SIMD groups, the plan says {}", groups, plan.simd_groups_per_row),
        "2^(simd_group bits) is the number of SIMD groups per row", plan.program};
  }
  const std::uint32_t packed = plan.layout.rows_per_simd_group, rows = plan.rows_per_threadgroup;
  if (rows == 0 || rows % packed != 0 || (groups > 1 && rows != 1)) {
    return inconsistent(plan,
                        fmt::format("{} rows per threadgroup do not fit {} rows per SIMD group and {} SIMD groups "
                                    "per row",
                                    rows, packed, groups));
  }
  if (plan.cluster != cluster_size(plan.layout, plan.width, plan.stripe) || (plan.cluster > 1 && rows != 1)) {
    return inconsistent(plan, fmt::format("{} threadgroups share a row, which does not fit the layout, the width and "
                                          "{} rows per threadgroup",
                                          plan.cluster, rows));
  }
  const std::uint32_t turns = rows_in_turn(plan);
  if (turns > 1 && !may_take_turns(plan, analysis)) {
    return inconsistent(
        plan, fmt::format("the plan says {} rows for {} threads, but its SIMD groups cannot take rows in turn", rows,
                          plan.threads));
  }
  const std::uint64_t threads = std::uint64_t{plan.simd_width} * (groups > 1 ? groups : rows / packed / turns);
  if (plan.threads != threads) {
    return inconsistent(plan,
                        fmt::format("the plan says {} threads; its layout and rows make {}", plan.threads, threads));
  }
  if (plan.unroll == 0) return inconsistent(plan, "the plan unrolls 0 times");
  const std::uint32_t barriers = barrier_sites(plan, analysis);
  if (plan.barriers != barriers) {
    return inconsistent(plan, fmt::format("the plan says {} barriers; its folds need {}", plan.barriers, barriers));
  }
  const std::uint32_t bytes = threadgroup_bytes(plan, analysis);
  if (plan.threadgroup_bytes != bytes) {
    return inconsistent(plan,
                        fmt::format("the plan says {} threadgroup bytes; it needs {}", plan.threadgroup_bytes, bytes));
  }
  if (plan.stripe != Stripe::registers && plan.private_stripe != 0) {
    return inconsistent(plan, fmt::format("the plan keeps {} values in registers, but its stripe is {}",
                                          plan.private_stripe, stripe_name(plan.stripe)));
  }
  return std::nullopt;
}

}  // namespace

Status check(const Plan& plan, const ir::Program& program, const target::Target& target, std::int64_t cols) {
  if (plan.program_hash != program_hash(program)) {
    return Diagnostic{Code::plan_for_other_program,
                      fmt::format("the plan was made for program {} (hash {:016x}), not for {} (hash {:016x})",
                                  plan.program, plan.program_hash, program.name, program_hash(program)),
                      "plan this program anew", plan.program};
  }
  if (plan.target != target.name || plan.simd_width != target.simd_width) {
    return Diagnostic{Code::plan_for_other_target,
                      fmt::format("the plan was made for {} with {} lanes, not for {} with {}", plan.target,
                                  plan.simd_width, target.name, target.simd_width),
                      fmt::format("plan for {} anew", target.name), plan.program};
  }
  if (auto fault = width_fault(plan)) return *fault;
  if (auto fault = layout_fault(plan.layout, plan.order, plan.width.virtual_lanes, plan.simd_width)) return *fault;
  const Analysis analysis = analyse(program);
  if (auto fault = field_fault(plan, analysis)) return *fault;
  if (auto fault = stripe_fault(plan, analysis)) return *fault;
  if (cols % plan.width.alignment != 0) {
    return Diagnostic{Code::cols_outside_width_class,
                      fmt::format("the plan serves multiples of {} columns, not {}", plan.width.alignment, cols),
                      fmt::format("plan for {} columns", cols), plan.program};
  }
  if (cols < plan.width.min_cols || cols > plan.width.max_cols) {
    if (auto violation = legality::program_violation(program, plan.order, cols, target)) return *violation;
    return Diagnostic{
        Code::cols_outside_width_class,
        fmt::format("the plan serves {} to {} columns, not {}", plan.width.min_cols, plan.width.max_cols, cols),
        fmt::format("plan for {} columns", cols), plan.program};
  }
  if (auto violation = legality::program_violation(program, plan.order, cols, target)) return *violation;
  if (auto violation = legality::first_violation(question_of(program, analysis, target, plan))) return *violation;
  return success();
}

}  // namespace lanefold::plan
