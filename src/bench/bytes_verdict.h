// Whether two kernels store the same bytes: for all inputs, on some, or how far apart they are.
#pragma once

#include <optional>
#include <string>

#include "bench/arms/subject.h"

namespace lanefold::bench {

inline constexpr std::string_view kEqualForAll = "equal for all inputs";
inline constexpr std::string_view kEqualOnThese = "equal on these bytes";
inline constexpr std::string_view kDiffer = "differ";

/// How much is to be proved before bytes are compared.
enum class ProofEffort : std::uint8_t {
  none,
  some,  ///< the rows or threadgroups that `lanefold prove` chooses, and all of them where that takes seconds
  all,
};

struct BytesVerdict {
  std::string_view verdict = kDiffer;
  std::string detail;  ///< what was proved, and on which inputs bytes were compared
  std::optional<double>
      max_ulp;  ///< kDiffer: the greatest distance of two stored elements, in units in the last place of their type
  /// kDiffer: output_wrong where a kernel is outside of the tolerance of either's meaning, no_meaning where neither has one.
  std::optional<Diagnostic> fault;
};

/// Elements of all buffers beyond which nothing is proved: the proof would take minutes.
inline constexpr std::int64_t kMostProvedElements = std::int64_t{1} << 22;

/// Proves what it can, and runs both on the same contents of their one memory: plain and mixed numbers, and such with infinities, NaNs and subnormals. Only a
/// proof of all rows or threadgroups makes bytes equal for all inputs. Where bytes differ, the outputs of
/// both are held against the FP64 meanings of both: on plain numbers each must be within the tolerance; on the others, for which a tolerance made for numbers of
/// about 1 may be too narrow, the detail says which is not. Leaves the memory with
/// other contents than it found.
Result<BytesVerdict> compare_bytes(Subject& a, Subject& b, ProofEffort effort);

/// Representable values of the type between two elements, counted along the ordered bits (0: the same bits, or both NaN; −0 and +0 are one apart); for
/// integers their difference. A NaN is 2^32 from everything else.
double ulp_distance(const std::byte* a, const std::byte* b, ElementType type);

}  // namespace lanefold::bench
