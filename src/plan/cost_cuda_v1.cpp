// cuda_traffic_v1: microseconds of a launch on a CUDA device. A plan is priced by the bytes that it moves with as many of them in
// flight as its threadgroups keep, and by the time that one threadgroup takes alone, in as many waves as there are.
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

constexpr double kOtherRegisters = 24;  // of a worker, besides row data and states: addresses, bounds, temporaries
// Where a target has no figures of its own.
constexpr double kBandwidth = 1000;  // GB/s
constexpr double kMultiprocessors = 100;

// Measured on an H200.
constexpr double kInFlight = 36e3;     // bytes in flight on a multiprocessor that reach the bandwidth
constexpr double kFirstLoad = 0.75;    // µs from the start of a threadgroup to its first row data
constexpr double kLoad = 0.012;        // µs for each further vector of a worker
constexpr double kShuffle = 0.016;     // µs of a shuffle and the merge behind it
constexpr double kBarrier = 0.03;      // µs of a barrier and the partial results read behind it
constexpr double kGroup = 0.003;       // µs for each SIMD group that a barrier waits for
constexpr double kCluster = 0.5;     // µs of a barrier of a cluster and of its partial results
constexpr double kOperation = 3.2e-6;  // µs of an operation of one lane on a full multiprocessor

bool prices(target::Family family) { return family == target::Family::cuda; }

/// Bits of the widest vector that one load may take: 16 bytes of the narrowest element input.
std::uint32_t component_bits(const Context& context) {
  std::size_t narrowest = 4;
  for (const ir::Input& input : context.program.inputs)
    if (input.kind.tag == ir::Kind::Tag::element) narrowest = std::min(narrowest, element_bytes(input.storage));
  const std::uint32_t bits = std::min(3u, log2_exact(context.target.vector_load_bytes / narrowest));
  return std::min(bits, log2_exact(context.request.alignment));
}

/// Row data that a worker of so many threads may hold.
std::int64_t room(std::uint32_t threads) { return threads > 512 ? 36 : 64; }

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
      const std::int64_t elements = elements_per_worker(d.layout, cols);
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
        if (later == 0 || elements * (d.kept_values + later) > room(groups * simd)) continue;
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
    const auto most_bits = std::bit_width(context.target.max_cluster / std::bit_ceil(static_cast<std::uint64_t>(segments)));
    for (const std::uint32_t groups : simd_group_choices(context, own))
      for (std::uint32_t cluster = 0; cluster < static_cast<std::uint32_t>(most_bits); ++cluster)
        if (std::has_single_bit(groups) && (cluster == 0 || context.request.cols >= kWorthACluster))
          propose_resident(context, groups, cluster, drafts);
  }
  if (drafts.empty()) drafts = simd_traffic_v1().propose(context);
  return drafts;
}

double cost(const Context& context, const Plan& plan) {
  const Analysis& a = context.analysis;
  const target::Target& t = context.target;
  if (plan.rows == 0) return t.launch_floor;
  const double bandwidth = (t.bandwidth > 0 ? t.bandwidth : kBandwidth) * 1e3;  // bytes per µs
  const double cores = t.multiprocessors > 0 ? t.multiprocessors : kMultiprocessors;
  const auto rows = static_cast<double>(plan.rows), cols = static_cast<double>(plan.cols);
  const double vector = 1u << count_bits(plan.layout, Owner::component);
  const auto elements = static_cast<double>(elements_per_worker(plan.layout, part_of_row(plan.width, plan.stripe, plan.cols)));
  const bool resident = plan.stripe == Stripe::registers;
  const double sweeps = static_cast<double>(a.sweeps.size());

  const double reads = a.input_bytes * (resident ? 1 : 1 + 0.5 * std::max(0.0, sweeps - 1 - !a.element_stores));
  const double bytes = rows * cols * (reads + a.output_bytes);

  // How many threadgroups a multiprocessor holds, and what they keep in flight.
  const double banks = 1u << (count_bits(plan.layout, Owner::component) + count_bits(plan.layout, Owner::reg));
  const double registers = kOtherRegisters + (resident ? plan.private_stripe : 2 * vector) + banks * a.partials * 0.5;
  const double threads = plan.threads;
  const double held = std::max(
      1.0,
      std::floor(std::min({kThreadgroups, kThreads / threads, kRegisters / (threads * 8 * std::ceil(registers / 8))})));
  const double threadgroups = std::ceil(rows / plan.rows_per_threadgroup) * plan.cluster;
  const double there = std::min(held, std::ceil(threadgroups / cores));
  const double packed =
      static_cast<double>(plan.rows_per_threadgroup) * workers_per_row(plan.layout) / (threads * (1u << count_bits(plan.layout, Owner::cluster)));
  const double flying = there * threads * packed * (resident ? elements : vector) * a.input_bytes;
  const double moved = bytes / (bandwidth * std::min(1.0, 0.25 + 0.75 * flying / kInFlight));

  // Arithmetic of all lanes, idle ones included.
  double work = 0;
  for (const Sweep& sweep : a.sweeps) work += sweep.work + 2 * sweep.accumulators;
  const double merge_bits = count_bits(plan.layout, Owner::lane) + count_bits(plan.layout, Owner::simd_group);
  const double lanes = threadgroups * threads;
  const double issued = lanes * (elements * (work + 2) + 3 * merge_bits * a.partials + 40) / cores * kOperation;

  // One threadgroup alone.
  const double vectors =
      elements / vector * static_cast<double>(std::max<std::size_t>(1, context.program.inputs.size()));
  const double folds = static_cast<double>(a.row_folds.size());
  const double groups_bits = count_bits(plan.layout, Owner::simd_group);
  const double alone = kFirstLoad + kLoad * vectors + (plan.cluster > 1 ? kCluster * (folds + 1) : 0) + folds * kShuffle * (merge_bits + std::max(0.0, groups_bits - 3)) +
                       plan.barriers * (kBarrier + kGroup * plan.simd_groups_per_row) + elements * work * 1e-3;
  const double waves = std::max(1.0, threadgroups / (cores * held));
  return t.launch_floor + std::max({moved, issued, waves * alone}) + 0.1 * alone;
}

}  // namespace

const CostBasis& cuda_traffic_v1() {
  static const CostBasis kBasis = {"cuda_traffic_v1", ir::Order::canonical, prices, propose, cost};
  return kBasis;
}

}  // namespace lanefold::plan
