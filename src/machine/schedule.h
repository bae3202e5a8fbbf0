// The order in which the SIMD groups of a cluster take turns, and the barriers at which they meet.
#pragma once

#include <cstdint>
#include <deque>

#include "base/random.h"
#include "machine/group.h"

namespace lanefold::machine {

/// The threadgroups of one cluster at a time.
class Cluster {
 public:
  explicit Cluster(Launch& launch);
  /// Runs threadgroups first … first + cluster size − 1. False after a fault, which is among the findings.
  bool run(std::int64_t first, Random& random);

 private:
  /// Lets everyone pass whose barrier all have reached; false where they cannot meet.
  bool meet();
  /// Whether groups [begin, end) have all stopped at one place.
  bool together(std::size_t begin, std::size_t end);
  /// A finding for each peer that is used behind its last cluster barrier.
  void check_peers();
  void fault(const Fault& fault, const Group& group);

  Launch& launch_;
  std::deque<Threadgroup> threadgroups_;
  std::deque<Group> groups_;  ///< by threadgroup, then index
  std::size_t groups_each_;
};

}  // namespace lanefold::machine
