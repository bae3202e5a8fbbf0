// cuda_traffic_v1: microseconds of a launch on a CUDA device: the bytes that a plan moves, the operations that it issues, and the time
// that one threadgroup takes alone in as many waves as there are; the greatest decides, the others add to it.
#include <algorithm>
#include <bit>
#include <cmath>

#include "plan/candidate.h"
#include "plan/layout.h"

namespace lanefold::plan {
namespace {

// What a multiprocessor holds, from the CUDA programming guide's table of compute capabilities 8.0 to 10.0.
constexpr double kThreads = 2048;
constexpr double kThreadgroups = 32;
constexpr double kRegisters = 65536;

// Where a target has no figures of its own.
constexpr double kBandwidth = 1000;  // GB/s
constexpr double kMultiprocessors = 100;
constexpr double kLanesPerMicrosecond = 224640;  // operations that a multiprocessor issues: 128 lanes at 1.755 GHz

// Fitted to 3,317 plans of seven operators in two types and ten shapes on an H200 (lanefold tune --screen-only, tools/fit_cuda_cost.py),
// so that the plan with the least cost takes as little longer than the fastest as these few numbers allow.
constexpr double kReached = 1.022;         // of the target's bandwidth; the other limits add to its time
constexpr double kOtherRegisters = 4.48;   // of a worker: addresses, bounds, temporaries
constexpr double kKeptRegisters = 1.01;    // for each value that the row keeps
constexpr double kStateRegisters = 0.369;  // for each component of a fold's states
constexpr double kStepWork = 2.94;         // operations of a fold's component for each element
constexpr double kLaneWork = 247;          // of a lane, besides its elements
constexpr double kFirstLoad = 0.14;        // µs of a threadgroup, besides what follows
constexpr double kLoad = 0.054;            // µs of a vector of a worker
constexpr double kShuffle = 0.0367;        // µs of a shuffle and the merge behind it
constexpr double kGroup = 0.0171;          // µs for each SIMD group that a barrier waits for
constexpr double kCluster = 0.226;         // µs of an exchange in a cluster
constexpr double kLateLoads = 0.791;       // µs to wait for inputs that are loaded after a fold
constexpr double kOperation = 0.00133;     // µs of an operation of one worker
constexpr double kThreadgroup = 0.00122;   // µs until the device has begun another one
constexpr double kPower = 2.03;            // how sharply the greatest of the limits decides
constexpr double kLaunch = 0.35;           // µs

/// The share of an H200's multiprocessors that clusters of so many threadgroups fill, one threadgroup each: a cluster stays within
/// some 16 or 18 of them that stand together. Clusters of 4 fill 124, but where that decided, clusters of 8 with half as many workers each
/// were as fast or faster.
double cluster_share(std::uint32_t cluster) {
  constexpr double kMultiprocessorsOfH200 = 132;
  const double filled = cluster <= 2 ? 132 : cluster <= 8 ? 120 : 112;
  return filled / kMultiprocessorsOfH200;
}

bool prices(target::Family family) { return family == target::Family::cuda; }

/// Bits of the widest vector that one load may take: 16 bytes of the narrowest element input.
std::uint32_t component_bits(const Context& context) {
  std::size_t narrowest = 4;
  for (const ir::Input& input : context.program.inputs)
    if (input.kind.tag == ir::Kind::Tag::element) narrowest = std::min(narrowest, element_bytes(input.storage));
  const std::uint32_t bits = std::min(3u, log2_exact(context.target.vector_load_bytes / narrowest));
  return std::min(bits, log2_exact(context.request.alignment));
}

/// Registers of row data that a worker of so many threads may hold; more elements than that are slower, packed ones too.
double room(std::uint32_t threads) { return threads > 512 ? 36 : 64; }

/// Registers that hold row data, for each element of a worker: of packed elements half a one each, and half of that again to unpack them.
double registers_per_element(const Analysis& a, bool early_loads) {
  double values = std::max(1u, a.kept_values), registers = std::max(0.5, a.kept_registers);
  if (early_loads) {
    values += static_cast<double>(a.later_inputs.size());
    registers += a.later_registers;
  }
  return (values + registers) / 2;
}

/// Adds the drafts of a row that stays in registers, spread over so many SIMD groups and so many times two threadgroups.
void propose_resident(const Context& context, std::uint32_t groups, std::uint32_t cluster, std::vector<Draft>& drafts) {
  const std::uint32_t simd = context.target.simd_width, all_lanes = log2_exact(simd);
  const bool canonical = context.order == ir::Order::canonical;
  const bool segmented = canonical && ir::CanonicalOrder::segments(context.request.cols) > 1;
  const std::int64_t cols = segmented ? ir::CanonicalOrder::segment : context.request.cols;
  const std::uint32_t total =
      canonical ? log2_exact(static_cast<std::uint64_t>(ir::CanonicalOrder::virtual_lanes(cols))) : 0;
  const std::uint32_t most = component_bits(context);
  for (std::uint32_t component = most > 1 ? most - 1 : 0; component <= most; ++component) {
    for (std::uint32_t lane = groups > 1 || cluster > 0 ? all_lanes : 2; lane <= all_lanes; ++lane) {
      LayoutBits bits;
      bits.component = component;
      bits.lane = lane;
      bits.simd_group = log2_exact(groups);
      bits.cluster = cluster;
      const std::uint32_t used = component + lane + bits.simd_group + cluster;
      if (canonical && used > total) continue;
      bits.reg = canonical ? total - used : 0;
      Draft d;
      d.simd_groups_per_row = groups;
      d.layout = make_layout(bits, simd >> lane);
      d.stripe = Stripe::registers;
      if (context.analysis.widest_block_fold > bank_span(d.layout)) continue;
      const auto elements = static_cast<double>(elements_per_worker(d.layout, cols));
      const auto later = static_cast<std::uint32_t>(context.analysis.later_inputs.size());
      d.kept_values = std::max(1u, context.analysis.kept_values);
      if (elements * d.kept_values > room(groups * simd)) continue;
      std::vector<std::uint32_t> rows = {context.request.rows_per_threadgroup.value_or(1)};
      if (groups == 1 && cluster == 0 && !segmented) {
        const std::uint32_t packed = simd >> lane;
        std::vector<std::uint32_t> own;
        for (std::uint32_t g = 1; g <= 8; g *= 2)
          if (std::int64_t{g - 1} * packed < context.request.rows) own.push_back(g * packed);
        rows = row_choices(context, packed, own);
      }
      for (const std::uint32_t r : rows) {
        d.rows_per_threadgroup = r;
        drafts.push_back(d);
        if (later == 0 || elements * registers_per_element(context.analysis, true) > room(groups * simd)) continue;
        drafts.push_back(d);
        drafts.back().early_loads = true;
        drafts.back().kept_values += later;
      }
    }
  }
}

std::vector<Draft> propose(const Context& context) {
  constexpr std::int64_t kWorthACluster = 4096;  // columns
  std::vector<Draft> drafts;
  const bool asked_otherwise = context.request.stripe && *context.request.stripe != Stripe::registers;
  const std::int64_t segments =
      context.order == ir::Order::canonical ? ir::CanonicalOrder::segments(context.request.cols) : 1;
  if (context.order != ir::Order::serial && segments <= context.target.max_cluster && !asked_otherwise) {
    const std::uint32_t most = context.target.planned_threads / context.target.simd_width;
    std::vector<std::uint32_t> own;
    for (std::uint32_t groups = 1; groups <= most; groups *= 2) own.push_back(groups);
    const auto most_bits =
        std::bit_width(context.target.max_cluster / std::bit_ceil(static_cast<std::uint64_t>(segments)));
    for (const std::uint32_t groups : simd_group_choices(context, own))
      for (std::uint32_t cluster = 0; cluster < static_cast<std::uint32_t>(most_bits); ++cluster)
        if (std::has_single_bit(groups) && (cluster == 0 || context.request.cols >= kWorthACluster))
          propose_resident(context, groups, cluster, drafts);
  }
  const bool is_exact =
      context.request.simd_groups || context.request.rows_per_threadgroup || context.request.group_threads;
  if (!drafts.empty() && !is_exact) return drafts;
  // Rows that are read again: always possible, and what is left where an exact request leaves no room for the row.
  for (Draft& d : simd_traffic_v1().propose(context)) {
    d.stripe = context.request.stripe.value_or(Stripe::reload);
    drafts.push_back(std::move(d));
  }
  return drafts;
}

double cost(const Context& context, const Plan& plan) {
  const Analysis& a = context.analysis;
  const target::Target& t = context.target;
  if (plan.rows == 0) return kLaunch;
  const double bandwidth = kReached * (t.bandwidth > 0 ? t.bandwidth : kBandwidth) * 1e3;  // bytes per µs
  const double cores = (t.multiprocessors > 0 ? t.multiprocessors : kMultiprocessors) * cluster_share(plan.cluster);
  const auto rows = static_cast<double>(plan.rows), cols = static_cast<double>(plan.cols);
  const double vector = 1u << count_bits(plan.layout, Owner::component);
  const auto elements =
      static_cast<double>(elements_per_worker(plan.layout, part_of_row(plan.width, plan.stripe, plan.cols)));
  const bool resident = plan.stripe == Stripe::registers;
  const auto sweeps = static_cast<double>(a.sweeps.size());
  const auto folds = static_cast<double>(folds_apart(plan, a));
  const double threads = plan.threads;

  // How many threadgroups a multiprocessor holds.
  const double states = 1u << (count_bits(plan.layout, Owner::component) + count_bits(plan.layout, Owner::reg));
  const double registers =
      std::min(kRegisters / threads,
               kOtherRegisters + kStateRegisters * states * a.partials +
                   kKeptRegisters * (resident ? elements * registers_per_element(a, plan.early_loads) : vector));
  const double held = std::max(
      1.0,
      std::floor(std::min({kThreadgroups, kThreads / threads, kRegisters / (threads * 8 * std::ceil(registers / 8))})));
  const double threadgroups = std::ceil(rows / plan.rows_per_threadgroup) * plan.cluster;

  // Rows that do not stay are read again, half of the time from a cache.
  const double readings = resident ? 1 : 1 + 0.5 * std::max(0.0, sweeps - 1 - !a.element_stores);
  const double moved = rows * cols * (a.input_bytes * readings + a.output_bytes) / bandwidth;

  double work = 0;
  for (const Sweep& sweep : a.sweeps) work += kStepWork * sweep.accumulators;
  const double issued =
      threadgroups * threads * (elements * work + kLaneWork) / (std::min(cores, threadgroups) * kLanesPerMicrosecond);

  // One threadgroup alone, as many times as there are waves of them.
  const double groups_bits = count_bits(plan.layout, Owner::simd_group);
  const double shuffles = count_bits(plan.layout, Owner::lane) + std::max(0.0, groups_bits - 3);
  const auto loaded = static_cast<double>(
      std::count_if(context.program.inputs.begin(), context.program.inputs.end(), [](const ir::Input& input) {
        return input.kind.tag == ir::Kind::Tag::element || input.kind.tag == ir::Kind::Tag::column;
      }));
  double alone = kFirstLoad + kLoad * elements / vector * loaded + kShuffle * folds * shuffles;
  if (groups_bits > 0) alone += folds * kGroup * plan.simd_groups_per_row;
  if (plan.cluster > 1) alone += folds * kCluster;
  if (!plan.early_loads && !a.later_inputs.empty()) alone += kLateLoads;
  for (const Sweep& sweep : a.sweeps) alone += kOperation * elements * sweep.work;
  const double waves = threadgroups / (cores * held);
  const double waited = std::max(1.0, waves) * alone;
  const double begun = threadgroups * kThreadgroup;
  double sum = 0;
  for (const double limit : {moved, issued, waited, begun}) sum += std::pow(limit, kPower);
  return kLaunch + std::pow(sum, 1 / kPower);
}

}  // namespace

const CostBasis& cuda_traffic_v1() {
  static const CostBasis kBasis = {"cuda_traffic_v1", ir::Order::canonical, prices, propose, cost};
  return kBasis;
}

}  // namespace lanefold::plan
