// What must hold before a case is timed, and still hold afterwards.
#pragma once

#include <string>
#include <vector>

#include "bench/arms/subject.h"

namespace lanefold::bench {

/// Refuses what cannot be made: plans and sizes that do not fit, scalars that nothing gives a value. What is left to fail fails as a case.
Status check_request(const SubjectRequest& request);

/// A FILE.lane may do anything, and machine code does it unwatched: so the lane machine runs it first, and its first finding is the diagnostic.
/// machine_too_long where that would take minutes. Other kernels pass.
Status check_lane_file(const SubjectRequest& request);

/// Whether the plan that ran is the one that was asked for, but for the candidates that were considered: plan_not_realised.
Status check_realised(const plan::Plan& asked, const plan::Plan& realised);

/// output_wrong, with the first element that is; `place` is the case.
Status check_outputs(const std::string& place, const verify::CheckReport& report);

/// What a kernel had stored when it was checked. The subject must outlive it.
class StoredBytes {
 public:
  explicit StoredBytes(const Subject& subject);
  /// output_wrong where memory holds something else now (kernels that change their inputs store something else in every call, and pass);
  /// machine_out_of_bounds where something beside a buffer was written.
  Status check(const std::string& place) const;

 private:
  const Subject& subject_;
  bool repeats_ = false;
  std::vector<std::vector<std::byte>> outputs_;
};

}  // namespace lanefold::bench
