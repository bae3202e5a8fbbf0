// Whether two kernels store the same bytes: for all inputs, on some, or how far apart they are.
#pragma once

#include <optional>
#include <string>

#include "bench/arms/subject.h"

namespace lanefold::bench {

inline constexpr std::string_view kEqualForAll = "equal for all inputs";
inline constexpr std::string_view kEqualOnThese = "equal on these bytes";
inline constexpr std::string_view kDiffer = "differ";

struct BytesVerdict {
  std::string_view verdict = kDiffer;
  std::string detail;  ///< what was proved, or on which inputs
  std::optional<double>
      max_ulp;  ///< kDiffer: the greatest distance of two stored elements, in units in the last place of their type
};

/// Elements of all buffers beyond which nothing is proved: the proof would take minutes.
inline constexpr std::int64_t kMostProvedElements = std::int64_t{1} << 22;

/// Proves if it can and `prove` says so; else runs both on the same contents of their one memory: plain and mixed numbers, and such with infinities, NaNs and
/// subnormals. Both are compiled already. Leaves the memory with other contents than it found.
Result<BytesVerdict> compare_bytes(Subject& a, Subject& b, bool prove);

/// Representable values of the type between two elements, counted along the ordered bits (0: the same bits, or both NaN; −0 and +0 are one apart); for
/// integers their difference. A NaN is 2^32 from everything else.
double ulp_distance(const std::byte* a, const std::byte* b, ElementType type);

}  // namespace lanefold::bench
