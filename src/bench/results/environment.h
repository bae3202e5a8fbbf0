// Where and with what something is measured, as far as the system tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/results/results.h"

namespace lanefold::bench {

/// Processor time of the whole machine since it has started, in ticks of the system's clock.
struct ProcessorTime {
  std::uint64_t stolen = 0;  ///< given to others by the hypervisor
  std::uint64_t all = 0;     ///< idle time too
};

/// The environment of one run, from its begin to its end.
class EnvironmentWatch {
 public:
  /// Fills everything but `load_end` and `stolen`. Hashes the binary and its libraries, which takes up to a second, and starts watching after that.
  /// What the system does not tell stays empty.
  Environment begin(const std::string& device, const std::string& target);
  /// Fills `load_end` and `stolen`, as of now. May be called again, and then is right as of then.
  void end(Environment& environment) const;

 private:
  std::optional<ProcessorTime> begin_;
};

// The parts that read texts of the system, for tests.

/// From the text of /proc/stat; none where it does not count stolen time.
std::optional<ProcessorTime> processor_time(std::string_view stat);
/// The share of stolen time between two readings; none where no time has passed or a counter went back.
std::optional<double> stolen_share(const ProcessorTime& begin, const ProcessorTime& end);
/// The files of shared libraries in the text of /proc/self/maps, sorted, each once. A file that has been deleted keeps the
/// " (deleted)" that the system puts behind it.
std::vector<std::string> library_paths(std::string_view maps);

}  // namespace lanefold::bench
