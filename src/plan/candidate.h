// Candidates: how a cost basis proposes them, and how a proposal becomes a whole plan. Internal to src/plan.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "legality/legality.h"
#include "plan/analysis.h"
#include "plan/plan.h"

namespace lanefold::plan {

/// What every candidate of one choice shares.
struct Context {
  const ir::Program& program;
  const Analysis& analysis;
  const target::Target& target;
  const Request& request;
  ir::Order order;
};

/// A proposal: what the basis decides; the rest follows from it.
struct Draft {
  std::uint32_t simd_groups_per_row = 1;
  std::uint32_t rows_per_threadgroup = 1;
  std::uint32_t rows_in_turn = 1;  ///< of those, the ones that a SIMD group takes one after another
  Layout layout;                   ///< meaningless where the SIMD groups are no power of two
  Stripe stripe = Stripe::reload;
  std::uint32_t kept_values = 0;  ///< values per column that the stripe keeps
  bool early_loads = false;
  std::uint32_t unroll = 1;
};

/// A named, versioned way to propose and price candidates.
struct CostBasis {
  std::string_view name;
  ir::Order default_order;
  bool (*prices)(target::Family family);
  std::vector<Draft> (*propose)(const Context& context);
  double (*cost)(const Context& context, const Plan& plan);
};

const CostBasis& metal_subgroup_reduction_v1();
const CostBasis& cpu_traffic_v1();
const CostBasis& simd_traffic_v1();
const CostBasis& cuda_traffic_v1();

/// Every cost basis.
std::span<const CostBasis* const> cost_bases();

/// The plan of a draft, not priced and without the program's hash. The draft's SIMD groups are a power of two.
Plan assemble(const Context& context, const Draft& draft);

/// Barriers in the code of the plan.
std::uint32_t barrier_sites(const Plan& plan, const Analysis& analysis);
/// Folds of the row that merge by themselves: under `free`, one with its shifted sum counts once.
std::uint32_t folds_apart(const Plan& plan, const Analysis& analysis);
/// Bytes of threadgroup memory: one slot per SIMD group for each state component of a row fold, and the tiles kept there.
std::uint32_t threadgroup_bytes(const Plan& plan, const Analysis& analysis);

/// What keeps the plan's stripe from having a place, whatever the room: rows of any width have no size, and registers are
/// named at compile time, so their elements lie in one pass over one segment.
std::optional<Diagnostic> stripe_fault(const Plan& plan, const Analysis& analysis);

/// The question that legality is asked about a plan.
legality::Question question_of(const ir::Program& program, const Analysis& analysis, const target::Target& target,
                               const Plan& plan);

/// Whether the draft's stripe may stay in registers and has room there, at the widest row of its width class.
bool registers_have_room(const Context& context, Draft draft);

/// The SIMD groups per row to propose: the ones asked for, else the basis's own and those that the threads asked for imply.
std::vector<std::uint32_t> simd_group_choices(const Context& context, std::vector<std::uint32_t> own);
/// The rows per threadgroup to propose for one SIMD group a row: the ones asked for (as rows, or as threads), else `own`.
std::vector<std::uint32_t> row_choices(const Context& context, std::uint32_t rows_per_simd_group,
                                       std::vector<std::uint32_t> own);

}  // namespace lanefold::plan
