// The only file that sees the generated header, so that a commit makes one small file compile again.
#include "bench/results/revision.h"

#include "bench/results/built_from.h"  // made by cmake/Revision.cmake

namespace lanefold::bench {

std::string_view source_revision() { return LANEFOLD_BUILT_FROM_REVISION; }

std::optional<bool> source_dirty() {
  if (source_revision().empty()) return std::nullopt;
  return LANEFOLD_BUILT_FROM_DIRTY != 0;
}

}  // namespace lanefold::bench
