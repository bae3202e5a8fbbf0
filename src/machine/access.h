// Who touched a place in memory, and when: what tells a race from an ordered pair.
#pragma once

#include <cstdint>
#include <optional>

namespace lanefold::machine {

/// One lane's access. An epoch counts the barriers of its kind that have been passed: two accesses with different epochs
/// have such a barrier between them.
struct Access {
  std::int64_t threadgroup = 0;
  std::int64_t cluster = 0;
  std::uint32_t cluster_epoch = 0;
  std::uint32_t epoch = 0;           ///< of the threadgroup
  std::uint32_t group_epoch = 0;     ///< of the SIMD group: its own barriers and those of the threadgroup
  std::uint32_t exchange_epoch = 0;  ///< of threadgroup memory: exchanges that the cluster has passed
  bool exchanged = false;            ///< written by an exchange
  std::uint32_t counter = 0;         ///< the instruction
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
    if (raced_by_write(access)) race = write_;
    remember(access);
    return race;
  }

  /// The earlier access that the write races with, if any.
  std::optional<Access> write(const Access& access) {
    std::optional<Access> race;
    if (raced_by_write(access)) race = write_;
    if (!race && read_) race = reader_against(access);
    written_ = true;
    write_ = access;
    read_ = false;
    return race;
  }

 private:
  /// A reader of the same threadgroup and epoch as the last one.
  struct Beside {
    bool known = false;
    std::uint8_t group = 0;
    std::uint8_t lane = 0;
    std::uint32_t counter = 0;
  };
  static Beside beside(const Access& a) {
    return {.known = true, .group = a.group, .lane = a.lane, .counter = a.counter};
  }

  bool raced_by_write(const Access& access) const {
    const bool arrived = write_.exchanged && write_.exchange_epoch != access.exchange_epoch;
    return written_ && !arrived && !ordered(write_, access);
  }

  // Readers are summarised: the last one; beside it one of another SIMD group, and one of another lane of its group
  // in the group's epoch; and one of another threadgroup. Two that differ are enough, since whoever writes differs
  // from one of them. Readers that a barrier orders before the last one are let go, since whatever races with them
  // and not with the last one is ordered after that barrier too; but no barrier orders a reader of another cluster.
  // An exchange orders all reads before it before all writes behind it.
  void remember(const Access& access) {
    read_ = read_ && last_.exchange_epoch == access.exchange_epoch;
    if (!read_) {
      other_.reset();
    } else if (last_.threadgroup != access.threadgroup) {
      if (last_.cluster != access.cluster) {
        other_ = last_;
      } else if (!other_ || other_->cluster == access.cluster) {
        other_ = ordered(last_, access) ? std::nullopt : std::optional(last_);
      }
    }
    if (!read_ || last_.threadgroup != access.threadgroup || last_.epoch != access.epoch) {
      group_ = lane_ = {};
    } else if (last_.group != access.group) {
      group_ = beside(last_);
      lane_ = {};
    } else if (last_.group_epoch != access.group_epoch) {
      lane_ = {};
    } else if (last_.lane != access.lane) {
      lane_ = beside(last_);
    }
    last_ = access;
    read_ = true;
  }

  std::optional<Access> reader_against(const Access& access) const {
    if (last_.exchange_epoch != access.exchange_epoch) return std::nullopt;
    if (other_ && !ordered(*other_, access)) return other_;
    if (!ordered(last_, access)) return last_;
    if (last_.threadgroup != access.threadgroup || last_.epoch != access.epoch) return std::nullopt;
    // The writer is of the last reader's group, so not of the group beside it; and its lane, unless epochs differ.
    const Beside& reader = group_.known || last_.group_epoch != access.group_epoch ? group_ : lane_;
    if (!reader.known) return std::nullopt;
    Access found = last_;
    found.group = reader.group;
    found.lane = reader.lane;
    found.counter = reader.counter;
    return found;
  }

  bool written_ = false, read_ = false;
  Access write_, last_;
  std::optional<Access> other_;
  Beside group_, lane_;
};

}  // namespace lanefold::machine
