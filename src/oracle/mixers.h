// The FP64 meaning of the hyper-connection mixers gr_norm, gr_down, gr_up and gr_up3: plain loops that know no lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanefold::oracle {

/// Sizes of a mixer: tokens T, elements of a stream, streams of a token, and the low rank.
struct MixerSizes {
  std::int64_t tokens = 1;
  std::int64_t hidden = 16;
  std::int64_t streams = 4;
  std::int64_t rank = 1;
};

/// What gr_norm stores.
struct NormedStreams {
  std::vector<double> residual;  ///< [T, streams, hidden], after the update
  std::vector<double> xn;        ///< [T, streams, hidden]
  std::vector<double> rs;        ///< [T, streams]
};

/// What gr_down stores.
struct LowRank {
  std::vector<double> lo;      ///< [T, rank]
  std::vector<double> inject;  ///< [T, streams]
};

/// Values, and what a quantised product wants of them.
struct Prepared {
  std::vector<double> values;
  std::vector<double> planes;  ///< [T, planes, elements / planes]: [t, p, j] is values[t, planes·j + p]·4^−p
  std::vector<double> sums;    ///< [T, elements / 16], of 16 consecutive elements
};

/// R' = R + branch_out·2·sigmoid(inj_prev/4), rs = 1/√(Σ R'²/hidden + 1e-6), xn = R'·w_norm·rs. Shapes: residual
/// [T, streams, hidden], branch_out [T, hidden], inj_prev [T, streams], w_norm [streams, hidden]; branch_out and inj_prev
/// both empty leave the residual as it is. An internal error where a length does not fit, here as below.
NormedStreams gr_norm(const MixerSizes& sizes, std::span<const double> residual, std::span<const double> branch_out,
                      std::span<const double> inj_prev, std::span<const double> w_norm);

/// lo = silu(wd·xn/4) and inject = wi·xn. Shapes: xn [T, streams·hidden], wd [rank, streams·hidden],
/// wi [streams, streams·hidden].
LowRank gr_down(const MixerSizes& sizes, std::span<const double> xn, std::span<const double> wd,
                std::span<const double> wi);

/// ¼ Σ_c xn[c, d]·sigmoid(wu[c·hidden + d]·lo) as values [T, hidden]. Shapes: xn [T, streams, hidden], lo [T, rank],
/// wu [streams·hidden, rank].
Prepared gr_up(const MixerSizes& sizes, std::int64_t planes, std::span<const double> xn, std::span<const double> lo,
               std::span<const double> wu);

/// gr_up of xn = residual·w_norm·rs and lo = silu(¼ Σ_c rs[c]·d[c]). Shapes: residual [T, streams, hidden], w_norm
/// [streams, hidden], rs [T, streams], d [T, streams, rank], wu [streams·hidden, rank].
Prepared gr_up3(const MixerSizes& sizes, std::int64_t planes, std::span<const double> residual,
                std::span<const double> w_norm, std::span<const double> rs, std::span<const double> d,
                std::span<const double> wu);

/// Values [T, elements] with their planes and sums; elements is a multiple of 16 and of `planes`.
Prepared prepare(std::int64_t tokens, std::int64_t planes, std::vector<double> values);

/// The elements of q8_0 blocks of 34 bytes: an f16 scale, then 32 i8 codes; element = scale·code.
std::vector<double> q8_0_values(std::span<const std::byte> blocks);

}  // namespace lanefold::oracle
