// What a compiled kernel takes of a multiprocessor, as the assembler reports it; no device is needed to know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lanefold::runtime {

/// One kernel's resources.
struct ResourceUsage {
  std::string kernel;
  std::uint32_t registers = 0;          ///< per thread
  std::uint32_t spill_store_bytes = 0;  ///< per thread, written to local memory for want of registers
  std::uint32_t spill_load_bytes = 0;
  std::uint32_t stack_bytes = 0;   ///< per thread, what is spilled included
  std::uint32_t shared_bytes = 0;  ///< static threadgroup memory
  std::uint32_t barriers = 0;
  friend bool operator==(const ResourceUsage&, const ResourceUsage&) = default;
};

/// Every kernel of a log that --ptxas-options=-v gave, in the log's order.
std::vector<ResourceUsage> parse_resource_usage(std::string_view log);

}  // namespace lanefold::runtime
