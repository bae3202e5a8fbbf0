#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/hash.h"
#include "plan/alternatives.h"
#include "plan/candidate.h"
#include "plan/layout.h"

namespace lanefold::plan {
namespace {

constexpr std::uint32_t kMostAsked = 1u << 20;  // of SIMD groups, rows or threads: keeps their products small

std::optional<Diagnostic> range_fault(const Request& request) {
  const auto refuse = [](std::string_view what, auto value, std::string_view range) {
    return Diagnostic{Code::request_out_of_range, fmt::format("{} {} were asked for", value, what),
                      fmt::format("ask for {}", range), ""};
  };
  if (!std::has_single_bit(request.alignment) || request.alignment > kMostAlignment)
    return refuse("elements of alignment", request.alignment,
                  fmt::format("a power of two from 1 to {}", kMostAlignment));
  if (request.rows < 0) return refuse("rows", request.rows, "no rows or more");
  const auto positive = [](const std::optional<std::uint32_t>& n) { return !n || (*n >= 1 && *n <= kMostAsked); };
  const std::string range = fmt::format("1 to {}", kMostAsked);
  if (!positive(request.simd_groups)) return refuse("SIMD groups per row", *request.simd_groups, range);
  if (!positive(request.rows_per_threadgroup)) {
    return refuse("rows per threadgroup", *request.rows_per_threadgroup, range);
  }
  if (!positive(request.group_threads)) return refuse("threads per threadgroup", *request.group_threads, range);
  return std::nullopt;
}

Result<const CostBasis*> find_basis(const std::string& name, const target::Target& target) {
  std::string fitting;
  for (const CostBasis* b : cost_bases()) {
    if (!b->prices(target.family)) continue;
    if (!fitting.empty()) fitting += " or ";
    fitting += b->name;
  }
  if (name.empty()) {
    switch (target.family) {
      case target::Family::cpu: return &cpu_traffic_v1();
      case target::Family::cuda: return &cuda_traffic_v1();
      case target::Family::metal: return &simd_traffic_v1();
    }
  }
  for (const CostBasis* b : cost_bases()) {
    if (b->name != name) continue;
    if (b->prices(target.family)) return b;
    return Diagnostic{Code::cost_basis_for_other_target,
                      fmt::format("cost basis {} does not price plans for {}", name, target.name),
                      fmt::format("use {}", fitting), ""};
  }
  return Diagnostic{Code::unknown_cost_basis, fmt::format("there is no cost basis \"{}\"", name),
                    fmt::format("for {}, use {}", target.name, fitting), ""};
}

/// How rows and SIMD groups can share a threadgroup.
std::optional<Diagnostic> shape_fault(const Context& context, const Draft& d) {
  if (d.simd_groups_per_row > 1 && d.rows_per_threadgroup != 1) {
    return Diagnostic{Code::one_row_per_cooperating_threadgroup,
                      fmt::format("{} SIMD groups cooperate on a row, so a threadgroup has one row, not {}",
                                  d.simd_groups_per_row, d.rows_per_threadgroup),
                      "ask for one row per threadgroup, or for one SIMD group per row", context.program.name};
  }
  if (count_bits(d.layout, Owner::cluster) > 0 && d.rows_per_threadgroup != 1) {
    return Diagnostic{Code::one_row_per_cooperating_threadgroup,
                      fmt::format("threadgroups share a row, so each has one row, not {}", d.rows_per_threadgroup),
                      "ask for one row per threadgroup", context.program.name};
  }
  if (d.simd_groups_per_row == 1 && d.rows_per_threadgroup % d.layout.rows_per_simd_group != 0) {
    return Diagnostic{Code::exact_request_unmet,
                      fmt::format("{} rows per threadgroup are not whole SIMD groups of {} rows",
                                  d.rows_per_threadgroup, d.layout.rows_per_simd_group),
                      fmt::format("ask for a multiple of {}", d.layout.rows_per_simd_group), context.program.name};
  }
  return std::nullopt;
}

/// SIMD groups that no layout of this order has bits for: legality speaks first, of the workers that were meant.
Diagnostic unassignable_workers(const Context& context, const Draft& d) {
  const std::uint32_t simd = context.target.simd_width;
  const std::uint32_t workers = d.simd_groups_per_row * simd;
  const legality::Question q = {.program = context.program,
                                .order = context.order,
                                .cols = context.request.cols,
                                .workers_per_row = workers,
                                .threads = workers,
                                .virtual_lanes = ir::CanonicalOrder::virtual_lanes(context.request.cols),
                                .block_span = simd,
                                .target = context.target};
  if (auto violation = legality::first_violation(q)) return *violation;
  return Diagnostic{
      Code::layout_cannot_express_workers,
      fmt::format("{} SIMD groups per row are {} workers; a layout assigns bits, so workers are a power of two",
                  d.simd_groups_per_row, workers),
      fmt::format("ask for {} or {} SIMD groups per row", std::bit_floor(d.simd_groups_per_row),
                  std::bit_ceil(d.simd_groups_per_row)),
      context.program.name};
}

std::optional<Diagnostic> exact_fault(const Context& context, const Plan& p) {
  const auto refuse = [&](std::string_view what, std::uint32_t has, std::uint32_t asked) {
    return Diagnostic{Code::exact_request_unmet,
                      fmt::format("this plan has {} {}; {} were asked for", has, what, asked),
                      "leave one of the exact requests out, or make them agree", context.program.name};
  };
  const Request& r = context.request;
  if (r.simd_groups && *r.simd_groups != p.simd_groups_per_row) {
    return refuse("SIMD groups per row", p.simd_groups_per_row, *r.simd_groups);
  }
  if (r.rows_per_threadgroup && *r.rows_per_threadgroup != p.rows_per_threadgroup) {
    return refuse("rows per threadgroup", p.rows_per_threadgroup, *r.rows_per_threadgroup);
  }
  if (r.group_threads && *r.group_threads != p.threads) {
    return refuse("threads per threadgroup", p.threads, *r.group_threads);
  }
  return std::nullopt;
}

/// Completes and judges one draft; the plan is set where it is legal.
Candidate judge(const Context& context, const Draft& d, std::optional<Plan>& plan) {
  Candidate c;
  c.simd_groups_per_row = d.simd_groups_per_row;
  c.rows_per_threadgroup = d.rows_per_threadgroup;
  c.threads = d.simd_groups_per_row * context.target.simd_width;
  c.layout = d.layout;
  c.stripe = d.stripe;
  c.early_loads = d.early_loads;
  // A serial layout has no bits at all, so that it would hide the groups.
  if (context.order == ir::Order::serial && d.simd_groups_per_row > 1) {
    c.rejected = unassignable_workers(context, d);
    return c;
  }
  if ((c.rejected = shape_fault(context, d))) return c;
  if (!std::has_single_bit(d.simd_groups_per_row)) {
    c.rejected = unassignable_workers(context, d);
    return c;
  }
  Plan p = assemble(context, d);
  c.threads = p.threads;
  if ((c.rejected = stripe_fault(p, context.analysis))) return c;
  const auto question = question_of(context.program, context.analysis, context.target, p);
  if ((c.rejected = legality::first_violation(question))) return c;
  if ((c.rejected = layout_fault(p.layout, p.order, p.width.virtual_lanes, p.simd_width))) return c;
  if ((c.rejected = exact_fault(context, p))) return c;
  plan = std::move(p);
  return c;
}

/// The one draft of a forced layout; the basis says what it keeps.
Draft forced_draft(const Context& context, bool keeps_inputs) {
  Draft d;
  d.layout = *context.request.layout;
  d.simd_groups_per_row = 1u << count_bits(d.layout, Owner::simd_group);
  const std::uint32_t threads_rows = context.request.group_threads.value_or(context.target.simd_width) /
                                     context.target.simd_width * d.layout.rows_per_simd_group;
  d.rows_per_threadgroup = context.request.rows_per_threadgroup.value_or(d.simd_groups_per_row > 1 ? 1 : threads_rows);
  d.kept_values = context.analysis.tile_values + (keeps_inputs ? context.analysis.reread_values : 0);
  d.stripe = Stripe::reload;
  d.early_loads = context.request.early_loads.value_or(context.target.family == target::Family::cuda);
  if (context.request.stripe) {
    d.stripe = *context.request.stripe;
    if (d.stripe == Stripe::registers && context.target.family == target::Family::cuda)
      d.kept_values = std::max(1u, context.analysis.kept_values) +
                      (d.early_loads ? static_cast<std::uint32_t>(context.analysis.later_inputs.size()) : 0);
  } else if (d.kept_values > 0 && context.order != ir::Order::serial && registers_have_room(context, d)) {
    d.stripe = Stripe::registers;
  }
  d.unroll = context.target.family == target::Family::cpu ? 4 : 1;
  return d;
}

/// What to tell where nothing is left: a rule says more than a number that was not met.
Diagnostic most_telling(const std::vector<Candidate>& candidates) {
  for (const Candidate& c : candidates) {
    if (c.rejected && c.rejected->code != Code::exact_request_unmet) return *c.rejected;
  }
  if (candidates.empty() || !candidates.front().rejected) internal_error("choose: no candidate was proposed");
  return *candidates.front().rejected;
}

/// All candidates of a request, and the plans of the legal ones in the order in which they were proposed.
struct Judged {
  std::vector<Candidate> candidates;
  std::vector<Plan> legal;
};

/// Proposes and judges. What is left has at least one legal plan.
Result<Judged> judge_all(const ir::Program& program, const target::Target& target, const Request& request) {
  if (auto fault = range_fault(request)) return *fault;
  LANEFOLD_TRY(const CostBasis* const basis, find_basis(request.cost_basis, target));
  const ir::Order order = request.order.value_or(basis->default_order);
  if (auto violation = legality::program_violation(program, order, request.cols, target)) return *violation;
  if (request.group_threads && *request.group_threads % target.simd_width != 0) {
    return Diagnostic{
        Code::threads_not_whole_simd_groups,
        fmt::format("{} threads are not whole SIMD groups of {} lanes", *request.group_threads, target.simd_width),
        fmt::format("ask for a multiple of {}", target.simd_width), program.name};
  }
  const Analysis analysis = analyse(program);
  const Context context{program, analysis, target, request, order};
  std::vector<Draft> drafts;
  if (request.layout) {
    const std::int64_t width = order == ir::Order::canonical ? ir::CanonicalOrder::virtual_lanes(request.cols)
                               : order == ir::Order::serial || request.layout->bits.size() > 20
                                   ? 1
                                   : virtual_lanes(*request.layout);
    if (auto fault = layout_fault(*request.layout, order, width, target.simd_width)) return *fault;
    drafts.push_back(forced_draft(context, basis == &simd_traffic_v1() || basis == &cuda_traffic_v1()));
  } else {
    drafts = basis->propose(context);
  }
  Judged judged;
  for (const Draft& d : drafts) {
    std::optional<Plan> plan;
    Candidate c = judge(context, d, plan);
    if (plan) {
      plan->cost_basis = basis->name;
      plan->cost = c.cost = basis->cost(context, *plan);
      judged.legal.push_back(*std::move(plan));
    }
    judged.candidates.push_back(std::move(c));
  }
  if (judged.legal.empty()) return most_telling(judged.candidates);
  return judged;
}

bool is_cheaper(const Plan& a, const Plan& b) { return a.cost < b.cost; }

}  // namespace

std::uint64_t program_hash(const ir::Program& program) { return hash_text(ir::print(program)); }

Result<Plan> choose(const ir::Program& program, const target::Target& target, const Request& request) {
  LANEFOLD_TRY(Judged judged, judge_all(program, target, request));
  // Ties keep the earlier candidate: bases propose fewer SIMD groups first.
  Plan best = std::move(*std::min_element(judged.legal.begin(), judged.legal.end(), is_cheaper));
  best.program_hash = program_hash(program);
  best.candidates = std::move(judged.candidates);
  return best;
}

Result<std::vector<Plan>> legal_plans(const ir::Program& program, const target::Target& target,
                                      const Request& request) {
  LANEFOLD_TRY(Judged judged, judge_all(program, target, request));
  std::stable_sort(judged.legal.begin(), judged.legal.end(), is_cheaper);
  for (Plan& plan : judged.legal) plan.program_hash = program_hash(program);
  return std::move(judged.legal);
}

}  // namespace lanefold::plan
