// The summary of accesses against all of them: a race is seen at the same access.
#include "machine/access.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanefold::machine {
namespace {

struct Event {
  Access access;
  bool write = false;
};

/// Whether the event races with any before it, by definition.
bool races(const std::vector<Event>& before, const Event& event) {
  for (const Event& earlier : before)
    if ((earlier.write || event.write) && !ordered(earlier.access, event.access)) return true;
  return false;
}

/// Two clusters of two threadgroups of three SIMD groups of four lanes, which pass barriers at random.
class Crowd {
 public:
  explicit Crowd(std::uint32_t seed) : random_(seed) {}

  Event next(std::uint32_t barriers_of_16, std::uint32_t writes_of_16) {
    if (below(16) < barriers_of_16) pass_barrier();
    const std::uint32_t t = below(kThreadgroups), g = below(kGroups);
    return {{.threadgroup = t,
             .cluster = t / 2 * 2,
             .cluster_epoch = cluster_epoch_[t / 2],
             .epoch = epoch_[t],
             .group_epoch = group_epoch_[t][g],
             .counter = ++counter_,
             .group = static_cast<std::uint8_t>(g),
             .lane = static_cast<std::uint8_t>(below(4))},
            below(16) < writes_of_16};
  }

 private:
  static constexpr std::uint32_t kThreadgroups = 4, kGroups = 3;

  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  void pass(std::uint32_t t) {
    ++epoch_[t];
    for (std::uint32_t& epoch : group_epoch_[t]) ++epoch;
  }
  void pass_barrier() {
    const std::uint32_t t = below(kThreadgroups), kind = below(3);
    if (kind == 0) {
      ++group_epoch_[t][below(kGroups)];
    } else if (kind == 1) {
      pass(t);
    } else {
      ++cluster_epoch_[t / 2];
      pass(t / 2 * 2);
      pass(t / 2 * 2 + 1);
    }
  }

  std::mt19937 random_;
  std::uint32_t counter_ = 0;
  std::uint32_t cluster_epoch_[kThreadgroups / 2] = {};
  std::uint32_t epoch_[kThreadgroups] = {};
  std::uint32_t group_epoch_[kThreadgroups][kGroups] = {};
};

TEST(MachineAccess, TracksSeeARaceAtTheAccessThatMakesIt) {
  std::size_t raced = 0, clean = 0;
  for (std::uint32_t seed = 0; seed < 50000; ++seed) {
    Crowd crowd(seed);
    Track track;
    std::vector<Event> before;
    bool race = false;
    for (int i = 0; i < 12 && !race; ++i) {
      const Event event = crowd.next(seed % 13, seed % 7 % 4);
      race = races(before, event);
      const auto seen = event.write ? track.write(event.access) : track.read(event.access);
      ASSERT_EQ(seen.has_value(), race) << "seed " << seed << ", access " << i;
      before.push_back(event);
      if (!race) continue;
      // Who is named is one that it races with.
      bool named = false;
      for (const Event& earlier : before)
        named = named || ((earlier.write || event.write) && earlier.access.counter == seen->counter &&
                          earlier.access.threadgroup == seen->threadgroup && earlier.access.group == seen->group &&
                          earlier.access.lane == seen->lane && !ordered(earlier.access, event.access));
      ASSERT_TRUE(named) << "seed " << seed << ", access " << i;
    }
    ++(race ? raced : clean);
  }
  EXPECT_GT(raced, 5000u);
  EXPECT_GT(clean, 5000u);
}

}  // namespace
}  // namespace lanefold::machine
