// cpu_traffic_v1: estimated cycles of one row on one core whose SIMD groups are vector registers. It weighs more
// accumulators (shorter dependence chains, fewer loop steps) against longer merges and spilled registers.
#include <algorithm>
#include <bit>
#include <cmath>

#include "plan/candidate.h"
#include "plan/layout.h"
#include "plan/turns.h"

namespace lanefold::plan {
namespace {

// Cycles of a present out-of-order core; only their ratios matter.
constexpr double kLoad = 0.5;       // two loads a cycle
constexpr double kOperation = 0.5;  // two vector units
constexpr double kStore = 1;
constexpr double kLatency = 4;         // of an addition or fma
constexpr double kStepOverhead = 1.5;  // counter, branch, tail mask
constexpr double kMerge = 3;           // of two registers into one: two shuffles and the merge
constexpr double kChain = 7;           // of one register's lanes onto each other: a shuffle's latency and the merge's
constexpr double kSpill = 2;           // a register stored and loaded again
constexpr std::uint32_t kTemporaries = 4;
constexpr std::uint32_t kUnroll = 4;
constexpr std::uint32_t kMostRegisterBits = 4;

bool prices(target::Family family) { return family == target::Family::cpu; }

Stripe default_stripe(const Context& context, std::uint32_t rows) {
  if (context.analysis.tiles.empty() || context.order != ir::Order::canonical) return Stripe::reload;
  const WidthClass w = canonical_width_class(context.request.cols);
  const std::int64_t bytes = 4 * w.max_cols * context.analysis.tile_values * rows;
  return !w.segmented && bytes <= context.target.threadgroup_bytes ? Stripe::threadgroup_memory : Stripe::reload;
}

/// The layouts for so many SIMD groups a row, one per number of register bits. Lane bits come first, so that the register
/// bits move onto the lanes in the transposing network and one vector comes out.
std::vector<Layout> layouts(const Context& context, std::uint32_t groups) {
  const std::uint32_t simd = context.target.simd_width;
  if (context.order == ir::Order::serial) return {make_layout({}, simd)};
  LayoutBits bits;
  bits.lane = log2_exact(simd);
  bits.simd_group = std::has_single_bit(groups) ? log2_exact(groups) : 0;
  const std::uint32_t block =
      context.analysis.widest_block_fold == 0 ? 0 : log2_exact(context.analysis.widest_block_fold);
  const std::uint32_t width =
      context.order == ir::Order::canonical
          ? log2_exact(static_cast<std::uint64_t>(ir::CanonicalOrder::virtual_lanes(context.request.cols)))
          : 0;
  std::vector<Layout> found;
  // Where an ordered fold takes values of blocks, a bank must hold a whole block.
  const bool whole_blocks = std::any_of(context.analysis.sweeps.begin(), context.analysis.sweeps.end(),
                                        [](const Sweep& s) { return s.folds_blocks && !s.any_order; });
  std::uint32_t most = std::min(kMostRegisterBits, bits.lane);
  if (whole_blocks && block > bits.lane + most) most = std::min(kMostRegisterBits, block - bits.lane);
  for (std::uint32_t reg = 0; reg <= most; ++reg) {
    bits.reg = reg;
    const std::uint32_t used = bits.lane + reg + bits.simd_group;
    if (context.order == ir::Order::canonical) {
      if (used > width && reg > 0) break;
      bits.pass = used < width ? width - used : 0;
    } else {
      // A block of columns is folded within one step, so a step must hold it.
      bits.pass = bits.lane + reg < block ? block - bits.lane - reg : 0;
    }
    found.push_back(make_layout(bits));
  }
  return found;
}

/// Adds, where the folds may join and there are rows enough, the layouts in which a SIMD group takes rows in turn.
void propose_turns(const Context& context, std::vector<Draft>& drafts) {
  const Request& asked = context.request;
  if (asked.simd_groups || asked.rows_per_threadgroup || asked.group_threads || asked.stripe ||
      asked.rows < kRowsInTurn)
    return;
  for (const Layout& layout : layouts(context, 1)) {
    Draft d;
    d.layout = layout;
    d.unroll = kUnroll;
    d.rows_per_threadgroup = d.rows_in_turn = kRowsInTurn;
    if (may_take_turns(assemble(context, d), context.analysis)) drafts.push_back(d);
  }
}

std::vector<Draft> propose(const Context& context) {
  std::vector<Draft> drafts;
  for (const std::uint32_t groups : simd_group_choices(context, {1})) {
    for (const Layout& layout : layouts(context, groups)) {
      Draft d;
      d.simd_groups_per_row = groups;
      d.layout = layout;
      d.unroll = kUnroll;
      d.kept_values = context.analysis.tile_values;
      std::vector<std::uint32_t> rows = {context.request.rows_per_threadgroup.value_or(1)};
      if (groups == 1) rows = row_choices(context, layout.rows_per_simd_group, {layout.rows_per_simd_group});
      for (const std::uint32_t r : rows) {
        d.rows_per_threadgroup = r;
        d.stripe = context.request.stripe.value_or(default_stripe(context, r));
        drafts.push_back(d);
      }
    }
  }
  propose_turns(context, drafts);
  return drafts;
}

/// Cycles of a row that is taken in turn with others.
double cost_in_turn(const Context& context, const Plan& plan) {
  const Sweep& sweep = context.analysis.sweeps.front();
  const double vectors = std::ceil(static_cast<double>(plan.cols) / plan.simd_width);
  const double shared = static_cast<double>(context.analysis.shared_inputs.size());
  const double folds = sweep.accumulators, width = plan.simd_width;
  const double registers = joined_registers(plan.simd_width, context.analysis);
  const double lanes = static_cast<double>(plan.width.virtual_lanes) / width;
  double cycles = vectors * (static_cast<double>(sweep.inputs.size()) * kLoad + (sweep.work + folds) * kOperation);
  cycles += vectors / registers * kStepOverhead;
  // A load and a store of each shared value for all rows; each vector of partial results is one merge less than its lanes.
  cycles += vectors * shared * (kLoad + kStore) / plan.rows_per_threadgroup;
  cycles += static_cast<double>(1u << count_bits(plan.layout, Owner::pass)) * (kStore + kLoad);
  return cycles + lanes / registers * ((width - 1) * kMerge + kOperation);
}

double cost(const Context& context, const Plan& plan) {
  if (rows_in_turn(plan) > 1) return cost_in_turn(context, plan);
  const double simd = plan.simd_width;
  const bool serial = plan.order == ir::Order::serial;
  // One lane a row loads its row alone, so a vector step serves simd_width rows by gathering.
  const double share = serial ? simd : plan.simd_groups_per_row * simd;
  const double vectors =
      serial
          ? static_cast<double>(plan.cols)
          : static_cast<double>((plan.cols + static_cast<std::int64_t>(share) - 1) / static_cast<std::int64_t>(share));
  const double load = serial ? kLoad * simd : kLoad;
  const double sets = static_cast<double>(1u << count_bits(plan.layout, Owner::reg));
  const double lane_bits = count_bits(plan.layout, Owner::lane);
  const double reg_bits = count_bits(plan.layout, Owner::reg);
  const double segments =
      plan.order == ir::Order::canonical ? static_cast<double>(ir::CanonicalOrder::segments(plan.cols)) : 1;
  const double passes = static_cast<double>(1u << count_bits(plan.layout, Owner::pass)) * segments;
  const bool kept = plan.stripe != Stripe::reload;
  double cycles = 0;
  for (const Sweep& sweep : context.analysis.sweeps) {
    const double inputs = static_cast<double>((kept ? sweep.inputs : sweep.inputs_recomputing).size());
    const double work = kept ? sweep.work : sweep.work_recomputing;
    if (sweep.folds.empty()) {
      const double stores = context.analysis.output_bytes / 4;
      cycles += vectors * (inputs * load + work * kOperation + stores * kStore) + vectors / plan.unroll * kStepOverhead;
      continue;
    }
    const double states = sweep.accumulators;
    const double busy = inputs * load + (work + states) * kOperation;
    const double steps = std::max(passes, vectors / sets);
    const double spilled = std::max(0.0, sets * states + kTemporaries - context.target.vector_registers);
    cycles += vectors * std::max(busy, kLatency / sets) + steps * (kStepOverhead + spilled * kSpill);
    if (serial) continue;
    cycles += passes * states * ((sets - 1) * kMerge + (lane_bits - reg_bits) * kChain);
    cycles += states * (reg_bits * kChain + (passes - 1) * kMerge);
    cycles += (plan.simd_groups_per_row - 1) * states * kMerge;
  }
  return serial ? cycles / simd : cycles;
}

}  // namespace

const CostBasis& cpu_traffic_v1() {
  static const CostBasis kBasis = {"cpu_traffic_v1", ir::Order::canonical, prices, propose, cost};
  return kBasis;
}

}  // namespace lanefold::plan
