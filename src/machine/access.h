// Who touched a place in memory, and when: what tells a race from an ordered pair.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "machine/words.h"

namespace lanefold::machine {

/// One lane's access. An epoch counts the barriers of its kind that have been passed: two accesses with different epochs
/// have such a barrier between them.
struct Access {
  std::int64_t threadgroup = 0;
  std::int64_t cluster = 0;
  std::uint32_t cluster_epoch = 0;
  std::uint32_t epoch = 0;        ///< of the threadgroup
  std::uint32_t group_epoch = 0;  ///< of the SIMD group: its own barriers and those of the threadgroup
  std::uint32_t counter = 0;      ///< the instruction
  std::uint8_t group = 0;
  std::uint8_t lane = 0;
};

/// Whether a barrier, or being the same lane, orders the two. Launch order of threadgroups orders nothing, and neither does
/// the lockstep of a SIMD group, which not every device has.
inline bool ordered(const Access& a, const Access& b) {
  if (a.threadgroup == b.threadgroup) {
    if (a.group == b.group) return a.lane == b.lane || a.group_epoch != b.group_epoch;
    return a.epoch != b.epoch;
  }
  return a.cluster == b.cluster && a.cluster_epoch != b.cluster_epoch;
}

/// The accesses to one place that later ones can race with.
class Track {
 public:
  /// The earlier access that the read races with, if any.
  std::optional<Access> read(const Access& access) {
    std::optional<Access> race;
    if (written_ && !ordered(write_, access)) race = write_;
    remember(access);
    return race;
  }

  /// The earlier access that the write races with, if any.
  std::optional<Access> write(const Access& access) {
    std::optional<Access> race;
    if (written_ && !ordered(write_, access)) race = write_;
    if (!race && read_) race = reader_against(access);
    written_ = true;
    write_ = access;
    read_ = false;
    return race;
  }

 private:
  // Readers are summarised: the last one, the lanes of its SIMD group that read in the same epoch, the SIMD groups of its
  // threadgroup that did, and one reader of another threadgroup. Readers that a barrier orders before the last one are let go,
  // since whatever races with them and not with the last one is ordered after that barrier too.
  void remember(const Access& access) {
    const LaneMask lane = LaneMask{1} << access.lane;
    const std::uint32_t group = std::uint32_t{1} << access.group;
    if (read_ && last_.threadgroup != access.threadgroup) other_ = ordered(last_, access) ? std::nullopt : std::optional(last_);
    if (!read_) other_.reset();
    const bool same_epoch = read_ && last_.threadgroup == access.threadgroup && last_.epoch == access.epoch;
    const bool same_group = same_epoch && last_.group == access.group && last_.group_epoch == access.group_epoch;
    lanes_ = same_group ? lanes_ | lane : lane;
    groups_ = same_epoch ? groups_ | group : group;
    last_ = access;
    read_ = true;
  }

  std::optional<Access> reader_against(const Access& access) const {
    if (other_ && !ordered(*other_, access)) return other_;
    if (!ordered(last_, access)) return last_;
    if (last_.threadgroup != access.threadgroup || last_.epoch != access.epoch) return std::nullopt;
    Access reader = last_;
    const std::uint32_t others = groups_ & ~(std::uint32_t{1} << access.group);
    if (others != 0) {
      reader.group = static_cast<std::uint8_t>(std::countr_zero(others));
      return reader;
    }
    const LaneMask lanes = lanes_ & ~(LaneMask{1} << access.lane);
    if (last_.group != access.group || last_.group_epoch != access.group_epoch || lanes == 0) return std::nullopt;
    reader.lane = static_cast<std::uint8_t>(std::countr_zero(lanes));
    return reader;
  }

  bool written_ = false, read_ = false;
  Access write_, last_;
  std::optional<Access> other_;
  LaneMask lanes_ = 0;
  std::uint32_t groups_ = 0;
};

}  // namespace lanefold::machine
