// Layouts drawn at random, and plans that use them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/trial.h"
#include "plan/plan.h"
#include "target/target.h"

namespace lanefold::testing {

inline std::uint32_t floor_log2(std::uint64_t value) { return static_cast<std::uint32_t>(std::bit_width(value)) - 1; }

/// A layout of the canonical virtual lanes of `cols` columns on SIMD groups of `simd_width` lanes: any mixture of
/// owners that merges in ascending bit order. Legality may still refuse it (threads, memory, blocks).
inline plan::Layout random_layout(Numbers& numbers, std::int64_t cols, std::uint32_t simd_width,
                                  std::uint32_t most_register_bits = 4) {
  using plan::Owner;
  const std::uint32_t total = floor_log2(static_cast<std::uint64_t>(ir::CanonicalOrder::virtual_lanes(cols)));
  const std::uint32_t simd = floor_log2(simd_width);
  std::uint32_t lanes = simd;
  if (lanes > total) lanes = total;
  if (numbers.below(3) == 0) lanes -= numbers.below(lanes + 1);  // rows share the SIMD group
  plan::Layout layout;
  layout.rows_per_simd_group = 1u << (simd - lanes);
  std::uint32_t left = total - lanes;
  const auto take = [&](std::uint32_t most) {
    const std::uint32_t taken = numbers.below(std::min(left, most) + 1);
    left -= taken;
    return taken;
  };
  const std::uint32_t groups = layout.rows_per_simd_group == 1 && numbers.below(2) == 0 ? take(4) : 0;
  const std::uint32_t components = take(3), registers = take(most_register_bits), passes = left;
  layout.bits.assign(components, Owner::component);
  std::vector<Owner> mixed(lanes, Owner::lane);
  mixed.insert(mixed.end(), registers, Owner::reg);
  for (std::size_t i = mixed.size(); i > 1; --i)
    std::swap(mixed[i - 1], mixed[numbers.below(static_cast<std::uint32_t>(i))]);
  layout.bits.insert(layout.bits.end(), mixed.begin(), mixed.end());
  layout.bits.insert(layout.bits.end(), passes, Owner::pass);
  layout.bits.insert(layout.bits.end(), groups, Owner::simd_group);
  return layout;
}

inline std::string layout_text(const plan::Layout& layout) {
  std::string text;
  for (const plan::Owner owner : layout.bits) text += std::string(plan::owner_name(owner)) + ' ';
  return text + "rows " + std::to_string(layout.rows_per_simd_group);
}

/// A plan on a random layout, stripe and number of rows per threadgroup, or why it is refused.
inline Result<plan::Plan> random_plan(Numbers& numbers, const ir::Program& program, const target::Target& target,
                                      std::int64_t rows, std::int64_t cols, std::uint32_t most_register_bits = 4) {
  plan::Request request;
  request.rows = rows;
  request.cols = cols;
  request.order = ir::Order::canonical;
  request.layout = random_layout(numbers, cols, target.simd_width, most_register_bits);
  const bool one_group = std::find(request.layout->bits.begin(), request.layout->bits.end(), plan::Owner::simd_group) ==
                         request.layout->bits.end();
  if (one_group && numbers.below(2) == 0) request.group_threads = target.simd_width << numbers.below(3);
  switch (numbers.below(4)) {
    case 0: request.stripe = plan::Stripe::reload; break;
    case 1: request.stripe = plan::Stripe::threadgroup_memory; break;
    case 2: request.stripe = plan::Stripe::registers; break;
    default: break;  // the planner's own
  }
  return plan::choose(program, target, request);
}

/// The generic target of a SIMD width; the JIT gets the host's instructions for it.
inline target::Target generic_target(std::uint32_t simd_width) {
  target::Target target = *target::find("generic-" + std::to_string(simd_width));
  target.llvm_cpu = target::host().llvm_cpu;
  target.llvm_features = target::host().llvm_features;
  return target;
}

}  // namespace lanefold::testing
