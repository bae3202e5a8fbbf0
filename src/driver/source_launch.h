// How the kernels of emitted source are launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lane/module.h"

namespace lanefold::driver {

/// One launch: CUDA's words are a grid of `threadgroups` blocks of `threads` threads.
struct SourceLaunch {
  std::string kernel;  ///< its name in the text
  std::uint32_t threads = 1;
  std::int64_t threadgroups = 0;   ///< in whole clusters
  std::uint32_t cluster = 1;       ///< threadgroups that see each other's arrays
  std::uint32_t shared_bytes = 0;  ///< dynamic threadgroup memory
  bool programmatic = false;  ///< the kernel waits itself for the launch before it, and may begin while that still runs
};

/// One for each kernel of the module, in order, over so many rows and columns: what goes with source_text for CUDA.
std::vector<SourceLaunch> source_launches(const lane::Module& module, std::int64_t rows, std::int64_t cols);

}  // namespace lanefold::driver
