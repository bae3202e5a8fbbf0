// What a quantised product wants beside its input: the input in planes, and its sums over 16 consecutive elements. The sums
// are where the old and the new form of these kernels differ.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/module_frame.h"

namespace lanefold::kernels {

/// The columns of one sum.
inline constexpr std::int64_t kSumColumns = 16;

/// The forms of the sums: new, old, and the planted mistakes tree, one_chain, wrong_publishers and split_guard.
std::vector<FormFact> sum_forms();

/// Where the threads of a threadgroup hold the elements to be summed: thread t holds element t % 16 of run t / 16.
struct Runs {
  ValueId value = 0;        ///< f32 with canonical NaN; 0 in threads past the last run
  std::int64_t count = 0;   ///< runs; the threadgroup may have more threads than 16 · count
  std::int64_t places = 0;  ///< runs for which an array is kept, at least `count`
  std::uint32_t sums = 0;   ///< output buffer
  ValueId first = 0;        ///< i64: address of the sum of run 0
  std::int64_t stride = 1;  ///< from one run's sum to the next one's
};

/// Stores the sum of every run: s0 = 0 + v0 + v2 + … + v14, s1 = 0 + v1 + v3 + … + v15, sum = s0 + s1. All threads of the
/// threadgroup must come here together.
void emit_sums(ModuleFrame& frame, std::string_view form, const Runs& runs);

/// Stores x·4^−p at [token, p, element / planes] of buffer [tokens, planes, elements / planes], p = element % planes.
void emit_planes(ModuleFrame& frame, std::uint32_t buffer, ValueId token, ValueId element, std::int64_t elements,
                 std::int64_t planes, ValueId x);

}  // namespace lanefold::kernels
