// A plain copy on the executor's threads: the most bytes per second that a kernel of the same traffic can hope for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cpu/executor.h"

namespace lanefold::runtime {

/// Ways to write the destination.
enum class CopyStores : std::uint8_t {
  cached,     ///< as memcpy does
  streaming,  ///< past the caches, where the processor can
};

/// Copies `bytes` from `source` to `target` in equal parts. Both are aligned to 64 bytes and do not overlap; `bytes` is a multiple of 64.
void copy(std::byte* target, const std::byte* source, std::int64_t bytes, CopyStores stores, Executor& executor);

}  // namespace lanefold::runtime
