#include "bench/results/results.h"

#include <algorithm>

#include "bench/stats/statistics.h"

namespace lanefold::bench {

bool Check::ok() const {
  // A check that has compared nothing shows nothing.
  return !outputs.empty() &&
         std::all_of(outputs.begin(), outputs.end(), [](const OutputCheck& o) { return o.wrong == 0; });
}

const ArmRecord* CaseRecord::arm(std::string_view role) const {
  const auto found = std::find_if(arms.begin(), arms.end(), [&](const ArmRecord& a) { return a.role == role; });
  return found == arms.end() ? nullptr : &*found;
}

std::optional<double> CaseRecord::share_of_ceiling() const {
  const ArmRecord* subject = arm("subject");
  const ArmRecord* copy = arm("ceiling");
  if (subject == nullptr || copy == nullptr) return std::nullopt;
  // By one clock for both: a host's times have a launch in them that a device's have not.
  const bool by_device = !subject->device_us.empty() && !copy->device_us.empty();
  const std::vector<double>& subject_us = by_device ? subject->device_us : subject->wall_us;
  const std::vector<double>& copy_us = by_device ? copy->device_us : copy->wall_us;
  if (subject_us.empty() || copy_us.empty()) return std::nullopt;
  const double subject_median = median(subject_us);
  if (subject_median <= 0) return std::nullopt;
  // A copy moves whole lines of both buffers, which are more bytes than the smallest cases have.
  const auto bytes = static_cast<double>(bytes_read + bytes_written);
  const double more = copy->bytes > 0 ? bytes / static_cast<double>(copy->bytes) : 1;
  return more * median(copy_us) / subject_median;
}

}  // namespace lanefold::bench
