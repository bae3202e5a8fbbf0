// When outputs bypass the second-level cache of a CUDA device.
#pragma once

#include <cstdint>

#include "base/element_type.h"
#include "ir/program.h"

namespace lanefold::driver {

/// Outputs of calls beyond this would only push other data out of the cache.
inline constexpr std::int64_t kCudaStreamingBytes = 64 << 20;

/// Bytes that a program reads and writes for each column of a row.
inline std::int64_t column_bytes(const ir::Program& program) {
  std::int64_t bytes = 0;
  for (const ir::Input& input : program.inputs)
    if (input.kind.tag == ir::Kind::Tag::element) bytes += static_cast<std::int64_t>(element_bytes(input.storage));
  for (const ir::Store& store : program.stores)
    if (store.kind.tag == ir::Kind::Tag::element) bytes += static_cast<std::int64_t>(element_bytes(store.storage));
  return bytes;
}

/// Whether a call of a program that moves so many bytes for each column is one of those.
inline bool streams_on_cuda(std::int64_t column_bytes, std::int64_t rows, std::int64_t cols) {
  // Sizes that nobody has memory for may be planned too.
  return static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(column_bytes) >=
         static_cast<double>(kCudaStreamingBytes);
}

}  // namespace lanefold::driver
