// simd_traffic_v1: an analytic prior in microseconds for GPUs: the greater of the time that bytes and instructions take on a
// full device and the time that one row takes alone, above the launch floor. Measurement decides; this orders what to measure.
#include <algorithm>
#include <bit>

#include "plan/candidate.h"
#include "plan/layout.h"

namespace lanefold::plan {
namespace {

// Where a target has no figures of its own.
constexpr double kBandwidth = 400;  // GB/s
constexpr double kLaunchFloor = 1;  // µs

constexpr double kFirstLoad = 0.9;    // µs from a row's first load to its fold's result
constexpr double kChunk = 0.1;        // µs for each further load of a worker
constexpr double kBarrier = 0.06;     // µs of a barrier and the merge behind it
constexpr double kGroup = 0.006;      // µs for each SIMD group that a barrier waits for
constexpr double kReread = 0.35;      // cost of reading a row again from a cache, as a share of reading it from memory
constexpr double kLanesPerWord = 16;  // lane operations that a device does while it moves four bytes
constexpr double kStepWork = 4;       // operations of a step besides its arithmetic: address, bound, branch
constexpr double kFullThreadgroup = 128;  // threads below which a core's limit on threadgroups leaves lanes idle
constexpr double kThreadgroup = 64;       // lane operations to start a threadgroup, for each of its lanes

bool prices(target::Family family) { return family != target::Family::cpu; }

/// The share of the bandwidth that loads of so many bytes a lane reach.
double load_efficiency(double bytes) { return bytes >= 16 ? 1 : bytes >= 8 ? 0.96 : bytes >= 4 ? 0.88 : 0.7; }

std::vector<std::uint32_t> group_choices(const Context& context, std::int64_t width) {
  const std::uint32_t simd = context.target.simd_width;
  const std::uint32_t most = std::min(context.target.planned_threads / simd, simd);
  std::vector<std::uint32_t> groups;
  for (std::uint32_t s = 1; s <= most; s *= 2) {
    if (s == 1 || context.order == ir::Order::free || std::int64_t{s} * simd <= width) groups.push_back(s);
  }
  if (context.order == ir::Order::serial) groups = {1};
  return simd_group_choices(context, groups);
}

/// Layouts of a row over so many SIMD groups; the first is always given, so that a refusal has a candidate to stand at.
std::vector<Layout> layouts(const Context& context, std::uint32_t groups, std::int64_t width) {
  const std::uint32_t simd = context.target.simd_width;
  if (context.order == ir::Order::serial) return {make_layout({}, simd)};
  const bool canonical = context.order == ir::Order::canonical;
  const std::uint32_t total = canonical ? log2_exact(static_cast<std::uint64_t>(width)) : 0;
  const std::uint32_t all_lanes = log2_exact(simd);
  LayoutBits bits;
  bits.simd_group = std::has_single_bit(groups) ? log2_exact(groups) : 0;
  const std::uint32_t widest = canonical && groups == 1 ? std::min(all_lanes, total) : all_lanes;
  const std::uint32_t narrowest = groups > 1 ? widest : widest - std::min(widest, 3u);
  std::vector<Layout> found;
  for (std::uint32_t lane = widest + 1; lane-- > narrowest;) {
    for (std::uint32_t component = 0; component <= 2; ++component) {
      for (std::uint32_t reg = 0; reg <= 1; ++reg) {
        const std::uint32_t used = component + lane + reg + bits.simd_group;
        if (canonical && used > total && !found.empty()) continue;
        bits.component = component;
        bits.lane = lane;
        bits.reg = reg;
        bits.pass = canonical && used < total ? total - used : 0;
        found.push_back(make_layout(bits, simd >> lane));
      }
    }
  }
  return found;
}

Stripe default_stripe(const Context& context, Draft draft) {
  if (draft.kept_values == 0 || context.order == ir::Order::serial || !std::has_single_bit(draft.simd_groups_per_row)) {
    return Stripe::reload;
  }
  // A block that a bank cannot hold is folded by a sweep along the row, which a stripe in registers does not allow.
  if (context.analysis.widest_block_fold > bank_span(draft.layout)) return Stripe::reload;
  return registers_have_room(context, std::move(draft)) ? Stripe::registers : Stripe::reload;
}

std::vector<Draft> propose(const Context& context) {
  const std::int64_t width = ir::CanonicalOrder::virtual_lanes(context.request.cols);
  const std::uint32_t simd = context.target.simd_width;
  const std::uint32_t most = std::max(1u, context.target.planned_threads / simd);
  std::vector<Draft> drafts;
  for (const std::uint32_t groups : group_choices(context, width)) {
    for (const Layout& layout : layouts(context, groups, width)) {
      Draft d;
      d.simd_groups_per_row = groups;
      d.layout = layout;
      d.kept_values = context.analysis.tile_values + context.analysis.reread_values;
      const std::uint32_t packed = layout.rows_per_simd_group;
      std::vector<std::uint32_t> rows = {context.request.rows_per_threadgroup.value_or(1)};
      if (groups == 1) {
        // More SIMD groups than rows to fill them would start idle.
        std::vector<std::uint32_t> own = {packed};
        for (const std::uint32_t g : {std::min(4u, most), most}) {
          if (std::int64_t{g - 1} * packed < context.request.rows) own.push_back(g * packed);
        }
        rows = row_choices(context, packed, own);
      }
      for (const std::uint32_t r : rows) {
        d.rows_per_threadgroup = r;
        d.stripe = context.request.stripe.value_or(default_stripe(context, d));
        drafts.push_back(d);
      }
    }
  }
  return drafts;
}

double cost(const Context& context, const Plan& plan) {
  const Analysis& a = context.analysis;
  const target::Target& t = context.target;
  const double bandwidth = (t.bandwidth > 0 ? t.bandwidth : kBandwidth) * 1e3;  // bytes per µs
  const double floor = t.launch_floor > 0 ? t.launch_floor : kLaunchFloor;
  const auto rows = static_cast<double>(plan.rows), cols = static_cast<double>(plan.cols);
  const double vector = static_cast<double>(1u << count_bits(plan.layout, Owner::component));
  const double workers = workers_per_row(plan.layout);
  const double chunks = static_cast<double>(elements_per_worker(plan.layout, plan.cols)) / vector;
  const bool kept = plan.stripe != Stripe::reload;
  const bool inputs_kept = plan.stripe == Stripe::registers;

  // Bytes: the first sweep reads memory, later ones a cache, unless the stripe holds what they read.
  double read = 0, narrowest = 4, work = 0;
  std::vector<bool> met(context.program.inputs.size(), false);
  for (const Sweep& sweep : a.sweeps) {
    for (const std::uint32_t i : kept ? sweep.inputs : sweep.inputs_recomputing) {
      const double bytes = static_cast<double>(element_bytes(context.program.inputs[i].storage));
      narrowest = std::min(narrowest, bytes);
      if (!met[i])
        read += bytes;
      else if (!inputs_kept)
        read += kReread * bytes;
      met[i] = true;
    }
    work += kept ? sweep.work : sweep.work_recomputing;
    work += sweep.accumulators;
  }
  const double bytes =
      rows * cols * (read + a.output_bytes) /
      (load_efficiency(narrowest * vector) * std::min(1.0, 0.7 + 0.3 * plan.threads / kFullThreadgroup));

  // Instructions: whole chunks of all lanes, tails and idle lanes included.
  const double sweeps = static_cast<double>(a.sweeps.size());
  const double lanes = workers * rows;
  const double steps = lanes * chunks * (vector * work + sweeps * kStepWork);
  const double merge_bits = count_bits(plan.layout, Owner::lane) + count_bits(plan.layout, Owner::simd_group);
  const double own_merges = static_cast<double>(plan.width.virtual_lanes) / workers;
  const double merges = lanes * a.partials * (2 * merge_bits + (plan.order == ir::Order::canonical ? own_merges : 1));
  const double threadgroups = rows / plan.rows_per_threadgroup;
  const double starts = threadgroups * plan.threads * kThreadgroup;
  const double issue = (steps + merges + starts) / (bandwidth / 4 * kLanesPerWord);

  // One row alone: its chain of loads, once more for each sweep that reads again.
  const double readings = inputs_kept ? 1 : sweeps;
  const double barriers = plan.barriers * (kBarrier + kGroup * plan.simd_groups_per_row);
  const double alone = kFirstLoad + kChunk * readings * (chunks - 1) + barriers + chunks * vector * work * 1e-3 +
                       0.01 * merge_bits * static_cast<double>(a.row_folds.size());
  return floor + (rows == 0 ? 0 : std::max({bytes / bandwidth, issue, alone}) + 0.05 * alone);
}

}  // namespace

const CostBasis& simd_traffic_v1() {
  static const CostBasis kBasis = {"simd_traffic_v1", ir::Order::canonical, prices, propose, cost};
  return kBasis;
}

}  // namespace lanefold::plan
