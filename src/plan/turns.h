// Rows in turn: a SIMD group that takes several rows one after another, a slice of their columns at a time.
//
// What all rows share (the vectors that a matrix is multiplied with) is copied to threadgroup memory once for a slice and serves every row from
// there; the partial results of the folds lie in the lanes of one vector, so that merging them is a merge of whole vectors.
#pragma once

#include <cstdint>

#include "plan/analysis.h"
#include "plan/plan.h"

namespace lanefold::plan {

/// So many rows are taken in turn, where a call has as many. With fewer the copies of what they share cost too much, with more their
/// partial results no longer stay in the cache.
inline constexpr std::uint32_t kRowsInTurn = 32;

/// Rows that each SIMD group of the plan takes in turn; 1 where it has all of its rows at once.
std::uint32_t rows_in_turn(const Plan& plan);

/// Whether the plan's layout lets rows be taken in turn: one SIMD group whose lanes are the lowest bits, passes, and
/// registers for a whole vector of partial results.
bool may_take_turns(const Plan& plan, const Analysis& analysis);

/// The folds that share a vector, rounded up to a power of two.
std::uint32_t joined_folds(const Analysis& analysis);
/// Vectors of columns that are folded together, so that their partial results fill one vector.
std::uint32_t joined_registers(std::uint32_t simd_width, const Analysis& analysis);

/// Virtual lanes of a slice.
std::int64_t slice_lanes(const Plan& plan);
/// Elements of threadgroup memory for one shared input: a slice's columns at the class's greatest width, and a gap that sets the
/// copies apart from each other, so that they do not all claim the same places of a cache.
std::uint32_t slice_elements(const Plan& plan);
/// Bytes of threadgroup memory for all copies and for the partial results of all rows.
std::uint64_t turn_bytes(const Plan& plan, const Analysis& analysis);

}  // namespace lanefold::plan
