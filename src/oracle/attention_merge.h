// The FP64 meaning of qsa_merge: partial states of attention over chunks of the keys, merged and gated.
#pragma once

#include <cstdint>
#include <span>

#include "oracle/mixers.h"

namespace lanefold::oracle {

/// Sizes of a merge: `heads` query heads for each kv head.
struct MergeSizes {
  std::int64_t tokens = 1;
  std::int64_t kv_heads = 1;
  std::int64_t heads = 1;
  std::int64_t head_size = 16;
  std::int64_t chunks = 1;
};

/// With M = max m and w = exp(m − M) over the chunks whose m is not −FLT_MAX: (Σ acc·w / Σ l·w)·sigmoid(gate), and 0·sigmoid(gate)
/// where Σ l·w is 0 or there is no such chunk; values [T, kv_heads·heads, head_size], planes and sums over a token's
/// values. Shapes: acc [T, kv_heads, chunks, heads, head_size], m and l [T, kv_heads, chunks, heads], gate
/// [T, kv_heads·heads, head_size]. An internal error where a length does not fit.
Prepared qsa_merge(const MergeSizes& sizes, std::int64_t planes, std::span<const double> acc, std::span<const double> m,
                   std::span<const double> l, std::span<const double> gate);

}  // namespace lanefold::oracle
