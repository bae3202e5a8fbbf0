// What the sampler times: one kernel, a copy, or a peer.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"

namespace lanefold::bench {

/// Times of a batch of calls, in ns.
struct Timing {
  double wall_ns = 0;               ///< on the host, from before the first call until the last one is complete
  std::optional<double> device_ns;  ///< by the device's own clock, where it has one
};

class Arm {
 public:
  virtual ~Arm() = default;
  /// Calls so many times in a row and waits for the last one.
  virtual Result<Timing> run(std::uint64_t calls) = 0;
  /// Puts buffers that the kernel changes back to their first contents; never inside the clock.
  virtual Status restore() { return success(); }
};

}  // namespace lanefold::bench
