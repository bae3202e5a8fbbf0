// Replay: plans of earlier results, frozen, timed again in rotated rounds.
#pragma once

#include <string>
#include <vector>

#include "bench/case.h"

namespace lanefold::bench {

/// Plans for the same program, sizes and storage, the reference first.
struct ReplayGroup {
  std::string id;
  std::vector<std::string> names;
  std::vector<SubjectRequest> arms;
};

/// Groups the cases of `old` that ran a plan. Where a group has one plan only, the plan that Lanefold chooses now joins it as the reference. `like`
/// gives device and threads (0: those of the case). nothing_to_replay, with `place`, where no case has a plan.
Result<std::vector<ReplayGroup>> replay_groups(const Results& old, const verify::DeviceOptions& like,
                                               const std::string& place);

/// Checks every arm and takes at least `rounds` rounds: as many more as give each arm every turn equally often, and an even number. Whatever goes wrong is
/// the record's failure.
ReplayRecord replay_group(const ReplayGroup& group, const Protocol& protocol, int rounds);

/// The rounds that replay_group takes for so many arms.
int even_rounds(int rounds, std::size_t arms);

}  // namespace lanefold::bench
